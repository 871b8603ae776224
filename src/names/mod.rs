//! The name server: queries over UDP, TCP, TLS and HTTPS, answered from the snapshot.
//!
//! ```text
//! UDP: a thread and a socket for each core ─────────┐
//! TCP: connections, with deadlines ─────────────────┤
//! TLS: connections of `listener` ───────────────────┤
//! HTTPS: requests of `proxy` ───────────────────────┴─► dns::answer(snapshot.names.catalog, query) ─► counts
//! ```

mod conversation;
mod counts;
pub mod flattening;
pub(crate) mod https;
pub mod notifying;
pub mod parent_ds;
mod received;
pub mod receiving;
pub mod record_scan;
pub mod resolver;
mod sockets;
mod tcp;
mod transfers;
mod udp;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use dns::{Answered, Carrier, Cookies};
use parking_lot::Mutex;
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::server::{ListenFds, ShutdownWatch};
use pingora::services::{ServiceReadyNotifier, ServiceWithDependents};
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use conversation::converse;
use counts::{AnswerCounts, CountedZones};

use crate::clock::Clock;
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use crate::listener;
use crate::snapshot::SnapshotHandle;
pub use resolver::{KeptResolver, resolver_of};
pub use sockets::NameSockets;
pub use transfers::{ReceiveWish, Transfers};

use parent_ds::ParentRecords;
use record_scan::RecordScans;

/// What is known of zones elsewhere while the process runs. Clones share it.
#[derive(Clone, Default)]
pub struct ElsewhereKnown {
    pub transfers: Transfers,
    pub parents: ParentRecords,
    pub scans: RecordScans,
}

/// What the threads and connections of the name server share.
#[derive(Clone)]
pub struct NameContext {
    snapshots: SnapshotHandle,
    events: Events,
    clock: Clock,
    cookies: Cookies,
    transfers: Transfers,
    counted_zones: CountedZones,
    /// Of queries over HTTPS, which have no thread of their own.
    https_counts: Arc<Mutex<AnswerCounts>>,
    /// Set when the threads of an address are to end.
    is_ending: Arc<AtomicBool>,
    /// Becomes true when the process is to stop.
    drain: watch::Receiver<bool>,
}

impl NameContext {
    /// What queries are answered with, under a new key for cookies.
    ///
    /// # Errors
    /// One sentence if the system has no random numbers.
    pub fn new(
        snapshots: SnapshotHandle,
        events: Events,
        clock: Clock,
        drain: watch::Receiver<bool>,
        transfers: Transfers,
    ) -> Result<Self, String> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(|error| format!("the system has no random numbers: {error}"))?;
        let cookies = Cookies::new(key);
        let counted_zones = CountedZones::default();
        let https_counts = AnswerCounts::new(events.clone(), "https", counted_zones.clone());
        let https_counts = Arc::new(Mutex::new(https_counts));
        Ok(Self {
            snapshots,
            events,
            clock,
            cookies,
            transfers,
            counted_zones,
            https_counts,
            is_ending: Arc::default(),
            drain,
        })
    }

    fn counts(&self, protocol: &'static str) -> AnswerCounts {
        AnswerCounts::new(self.events.clone(), protocol, self.counted_zones.clone())
    }

    /// Has the primaries of a zone asked, if one of them said that it has changed.
    fn notified(&self, answered: &Answered<'_>) {
        if let Some(zone) = answered.zone.filter(|_| answered.is_notified) {
            self.transfers.ask_to_receive(zone.clone(), ReceiveWish::Newer);
        }
    }

    /// Seconds since the epoch.
    fn now(&self) -> u32 {
        u32::try_from(self.clock.unix().as_secs()).unwrap_or(u32::MAX)
    }
}

#[async_trait]
impl listener::Queries for NameContext {
    async fn answer(&self, stream: TlsStream<L4Stream>, client: IpAddr) {
        // How a connection ends is of no interest.
        let _ = converse(stream, client, Carrier::Encrypted, self).await;
    }
}

/// Answers queries at one address.
pub struct NameServer {
    configured: SocketAddr,
    sockets: Option<NameSockets>,
    context: NameContext,
}

impl NameServer {
    /// A server for sockets that are bound.
    pub fn new(sockets: NameSockets, context: &NameContext) -> Self {
        let context = NameContext { is_ending: Arc::default(), ..context.clone() };
        Self { configured: sockets.configured, sockets: Some(sockets), context }
    }

    /// By which processes hand the socket for TCP over.
    fn key(&self) -> String {
        format!("names@{}", self.configured)
    }

    fn failed(&self, error: &std::io::Error) {
        let error = format!("cannot answer queries at {}: {error}", self.configured);
        self.context.events.emit(&ServiceFailed { service: "names", error });
    }
}

#[async_trait]
impl ServiceWithDependents for NameServer {
    async fn start_service(
        &mut self,
        fds: Option<ListenFds>,
        mut shutdown: ShutdownWatch,
        _: usize,
        ready: ServiceReadyNotifier,
    ) {
        ready.notify_ready();
        let Some(sockets) = self.sockets.take() else { return };
        let tcp = listener::bind(&self.key(), sockets.configured, sockets.tcp, fds.as_ref());
        let mut threads = Vec::new();
        for socket in sockets.udp {
            let context = self.context.clone();
            let thread = std::thread::Builder::new()
                .name("names".to_owned())
                .spawn(move || udp::serve(&socket, &context));
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => self.failed(&error),
            }
        }
        match tcp.and_then(|tcp| tokio::net::TcpListener::from_std(tcp.listener)) {
            Ok(listener) => tokio::select! {
                () = tcp::serve(&listener, &self.context) => {}
                _ = shutdown.changed() => {}
            },
            Err(error) => {
                self.failed(&error);
                let _ = shutdown.changed().await;
            }
        }
        self.context.is_ending.store(true, Ordering::Relaxed);
        // Each ends within the time that it waits for a query.
        let _ = tokio::task::spawn_blocking(move || {
            threads.into_iter().try_for_each(std::thread::JoinHandle::join)
        })
        .await;
    }

    fn name(&self) -> &str {
        "names"
    }

    fn threads(&self) -> Option<usize> {
        Some(1)
    }

    fn listen_addresses(&self) -> Option<Vec<String>> {
        Some(vec![self.key()])
    }
}
