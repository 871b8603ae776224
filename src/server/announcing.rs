//! The end of a start: every socket is bound.

use std::collections::HashMap;
use std::net::SocketAddr;

use async_trait::async_trait;
use pingora::server::{ListenFds, ShutdownWatch};
use pingora::services::{ServiceReadyNotifier, ServiceWithDependents};
use tokio::sync::mpsc;

use super::{Listening, Tells};
use crate::events::Events;
use crate::events::kinds::ServerStarted;
use crate::memory;

/// Waits for every socket, then says that the process serves.
pub(super) struct Announcing {
    pub(super) bindings: mpsc::UnboundedReceiver<(usize, SocketAddr)>,
    pub(super) expected: usize,
    /// Where queries of resolvers are answered.
    pub(super) names: Vec<SocketAddr>,
    pub(super) events: Events,
    pub(super) tells: Tells,
}

#[async_trait]
impl ServiceWithDependents for Announcing {
    async fn start_service(
        &mut self,
        _: Option<ListenFds>,
        mut shutdown: ShutdownWatch,
        _: usize,
        ready: ServiceReadyNotifier,
    ) {
        ready.notify_ready();
        let mut bound = HashMap::new();
        while bound.len() < self.expected {
            tokio::select! {
                binding = self.bindings.recv() => match binding {
                    Some((index, address)) => { bound.insert(index, address); }
                    None => return,
                },
                _ = shutdown.changed() => return,
            }
        }
        let mut bound: Vec<(usize, SocketAddr)> = bound.into_iter().collect();
        bound.sort_unstable();
        let mut addresses: Vec<SocketAddr> = bound.into_iter().map(|(_, address)| address).collect();
        // The admin service has the last index.
        let Some(admin) = addresses.pop() else { return };
        if let Some(first_token) = self.tells.first_token.take() {
            first_token.announce(admin, &self.events).await;
        }
        self.events.emit(&ServerStarted {
            listeners: addresses.iter().map(SocketAddr::to_string).collect(),
            names: self.names.iter().map(SocketAddr::to_string).collect(),
            admin: admin.to_string(),
            version: env!("CARGO_PKG_VERSION"),
        });
        memory::give_back();
        if let Some(listening) = self.tells.listening.take() {
            // Who asked may have stopped waiting.
            let _ = listening.send(Listening { listeners: addresses, admin });
        }
    }

    fn name(&self) -> &str {
        "announcing"
    }

    fn threads(&self) -> Option<usize> {
        Some(1)
    }

    fn listen_addresses(&self) -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
