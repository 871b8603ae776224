//! What runs beside requests and queries, on one thread.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::server::{ListenFds, ShutdownWatch};
use pingora::services::{ServiceReadyNotifier, ServiceWithDependents};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::alerts::{self, AlertInputs};
use crate::certificates::WantedNames;
use crate::clock::Clock;
use crate::control::Control;
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use crate::health_checks;
use crate::jobs::{LastLooks, issuing, verifying};
use crate::names::{ElsewhereKnown, flattening, notifying, parent_ds, receiving};
use crate::old_uses::OldUses;
use crate::otlp_export::OtlpExports;
use gateway::vault::MasterKey;
use store::SecurityLog;

/// Reloads on `SIGHUP`, checks origins, and looks for spikes of security events.
pub(super) struct Upkeep {
    pub(super) control: Control,
    pub(super) security_log: Arc<Mutex<SecurityLog>>,
    pub(super) old_uses: OldUses,
    pub(super) may_be_private: bool,
    pub(super) elsewhere: ElsewhereKnown,
    pub(super) looks: LastLooks,
    pub(super) wanted: WantedNames,
    pub(super) secrets_key: Option<MasterKey>,
    pub(super) exports: OtlpExports,
    pub(super) events: Events,
    pub(super) clock: Clock,
}

/// Opens the log of requests anew whenever its file was moved.
async fn reopen_logs(events: Events, mut moved_files: Signal) {
    while moved_files.recv().await.is_some() {
        if let Some(access) = events.access_log() {
            access.reopen();
        }
    }
}

#[async_trait]
impl ServiceWithDependents for Upkeep {
    async fn start_service(
        &mut self,
        _: Option<ListenFds>,
        mut shutdown: ShutdownWatch,
        _: usize,
        ready: ServiceReadyNotifier,
    ) {
        ready.notify_ready();
        let Ok(mut hang_up) = signal(SignalKind::hangup()) else { return };
        let Ok(moved_files) = signal(SignalKind::user_defined1()) else { return };
        let reopens = reopen_logs(self.events.clone(), moved_files);
        let checks = health_checks::run(self.control.handle().clone(), self.events.clone(), self.clock);
        let reloads = async {
            while hang_up.recv().await.is_some() {
                self.control.reload();
            }
        };
        let alerts = alerts::run(
            self.control.handle().clone(),
            AlertInputs {
                log: Arc::clone(&self.security_log),
                old_uses: self.old_uses.clone(),
                may_be_private: self.may_be_private,
                secrets_key: self.secrets_key.clone(),
                events: self.events.clone(),
                clock: self.clock,
            },
        );
        let flattening = flattening::run(self.control.clone(), self.clock);
        let notifying = notifying::run(
            self.control.handle().clone(),
            self.elsewhere.transfers.clone(),
            self.events.clone(),
            self.clock,
        );
        let receiving = receiving::run(
            self.control.clone(),
            self.elsewhere.transfers.clone(),
            self.events.clone(),
            self.clock,
        );
        let parents = parent_ds::run(self.control.clone(), self.elsewhere.parents.clone(), self.clock);
        let hostnames =
            verifying::run(self.control.clone(), self.looks.clone(), self.events.clone(), self.clock);
        let certificates = issuing::run(
            self.control.clone(),
            self.wanted.clone(),
            (self.events.clone(), self.clock),
            self.secrets_key.clone(),
        );
        tokio::select! {
            () = self.exports.run() => {}
            () = certificates => {}
            () = hostnames => {}
            _ = shutdown.changed() => {}
            () = parents => {}
            () = receiving => {}
            () = flattening => {}
            () = notifying => {}
            () = alerts => {}
            () = checks => {}
            () = reloads => {}
            () = reopens => {}
        }
        if let Err(error) = self.old_uses.write() {
            let error = format!("uses of what ends were not kept: {error}");
            self.events.emit(&ServiceFailed { service: "upkeep", error });
        }
    }

    fn name(&self) -> &str {
        "upkeep"
    }

    fn threads(&self) -> Option<usize> {
        Some(1)
    }

    fn listen_addresses(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
