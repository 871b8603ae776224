//! What is known of a connection, readable in every filter of the proxy.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Facts of a connection. They ride in Pingora's digest.
#[derive(Clone, Debug)]
pub struct ConnectionMeta {
    /// The peer, or who it says it speaks for by the PROXY protocol.
    pub source: IpAddr,
    pub tls: bool,
    /// The name the client asked for in TLS.
    pub server_name: Option<String>,
    pub progress: Arc<Progress>,
}

/// How far the current request of a connection has come.
#[derive(Debug, Default)]
pub struct Progress {
    /// A byte of a head has come since the last request.
    head_began: AtomicBool,
    /// The current head is complete.
    head_done: AtomicBool,
    requests: AtomicUsize,
    timed_out: AtomicBool,
    changed: Notify,
}

impl Progress {
    /// A new request is awaited.
    pub(super) fn await_head(&self) {
        self.head_began.store(false, Ordering::Relaxed);
        self.head_done.store(false, Ordering::Relaxed);
    }

    /// Bytes came.
    pub(super) fn read(&self) {
        if !self.head_began.swap(true, Ordering::Relaxed) {
            self.changed.notify_one();
        }
    }

    /// The head of a request is complete: its deadline no longer holds.
    pub fn head_done(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.head_done.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    pub(super) fn has_head_begun(&self) -> bool {
        self.head_began.load(Ordering::Relaxed)
    }

    pub(super) fn is_head_done(&self) -> bool {
        self.head_done.load(Ordering::Relaxed)
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn time_out(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}
