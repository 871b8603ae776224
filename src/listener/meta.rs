//! What is known of a connection, readable in every filter of the proxy.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use http::HeaderValue;
use model::zone::ClientCertificates;
use pingora::http::ResponseHeader;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::{Digest, UniqueIDType};

use crate::admission::Refused;

/// Stands for a descriptor if a connection has no socket of its own.
pub(super) const NO_SOCKET: UniqueIDType = -1;

/// Facts of a connection. They ride in Pingora's digest.
#[derive(Clone, Debug)]
pub struct ConnectionMeta {
    /// The peer, or who it says it speaks for by the PROXY protocol.
    pub source: IpAddr,
    /// `source` as text: it is the same for every request of the connection.
    pub source_text: HeaderValue,
    pub tls: bool,
    /// Whether that is TLS 1.3.
    pub is_tls_1_3: bool,
    /// Whose certificate the client has shown, if it has.
    pub client_certificates: Option<Arc<ClientCertificates>>,
    /// The name the client asked for in TLS.
    pub server_name: Option<String>,
    /// Where the same is spoken otherwise (RFC 7838), if it is for this name.
    pub alternative: Option<HeaderValue>,
    pub progress: Arc<Progress>,
}

impl ConnectionMeta {
    /// The digest that they ride in.
    ///
    /// # Errors
    /// If Pingora's response cannot be built.
    pub(super) fn digest(self) -> pingora::Result<Arc<ProxyDigest>> {
        let response = Box::new(ResponseHeader::build(200, Some(0))?);
        Ok(Arc::new(ProxyDigest::new(response, Some(Box::new(self)))))
    }

    /// Those of a request's connection.
    pub fn of(digest: Option<&Digest>) -> Option<&Self> {
        digest?.proxy_digest.as_ref()?.user_data.as_ref()?.downcast_ref()
    }
}

/// An address as a field value.
pub fn address_text(address: IpAddr) -> HeaderValue {
    // Digits, letters, dots and colons are always a field value.
    HeaderValue::try_from(address.to_string()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// How far the current request of a connection has come.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests that were awaited so far.
    awaited: AtomicUsize,
    /// Requests whose head came.
    requests: AtomicUsize,
    /// Why the current head is refused, as its place in [`Refused::ALL`] and one; 0 if it is not.
    refused: AtomicUsize,
    is_upgraded: AtomicBool,
    /// Whether a body was not framed as its head said.
    has_bad_body: AtomicBool,
    timed_out: AtomicBool,
}

/// What a connection waits for: the first byte of its next head, or the rest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Requests before it.
    pub(super) request: usize,
    pub(super) head_began: bool,
}

impl Progress {
    /// A new request is awaited.
    pub(super) fn await_head(&self) {
        self.awaited.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn awaited(&self) -> usize {
        self.awaited.load(Ordering::Relaxed)
    }

    /// A head came, and was judged.
    pub(super) fn judged(&self, judged: Result<(), Refused>) {
        let place = judged.err().and_then(|refused| Refused::ALL.iter().position(|known| *known == refused));
        self.refused.store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Why the current head is refused.
    pub fn refused(&self) -> Option<Refused> {
        let place = self.refused.load(Ordering::Relaxed).checked_sub(1)?;
        Refused::ALL.get(place).copied()
    }

    /// A request came over HTTP/2.
    pub fn count_stream(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// The connection carries frames of another protocol from now on.
    pub fn upgrade(&self) {
        self.is_upgraded.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_upgraded(&self) -> bool {
        self.is_upgraded.load(Ordering::Relaxed)
    }

    pub(super) fn body_is_bad(&self) {
        self.has_bad_body.store(true, Ordering::Relaxed);
    }

    /// Whether the body was not framed as its head said.
    pub fn has_bad_body(&self) -> bool {
        self.has_bad_body.load(Ordering::Relaxed)
    }

    pub(super) fn time_out(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }
}
