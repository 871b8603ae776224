//! A client connection ended other than by finishing its requests.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

/// Only ends that are worth a line; every end is counted.
#[derive(Debug, Serialize)]
pub struct ConnectionEnded {
    #[serde(rename = "ClientIP")]
    pub client: String,
    pub outcome: ConnectionEnd,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionEnd {
    /// At least one request was read.
    Finished,
    /// Closed, reset or malformed before a request head was complete.
    NoRequest,
    HeaderTimeout,
    TlsFailed,
    ProxyProtocolRefused,
    TooManyConnections,
    TooManyFromAddress,
}

impl ConnectionEnd {
    pub fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::NoRequest => "no_request",
            Self::HeaderTimeout => "header_timeout",
            Self::TlsFailed => "tls_failed",
            Self::ProxyProtocolRefused => "proxy_protocol_refused",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyFromAddress => "too_many_from_address",
        }
    }
}

impl Event for ConnectionEnded {
    const NAME: &'static str = "connection_ended";
    const MESSAGE: &'static str = "client connection ended";
    // A scanner can make any number of these.
    const LEVEL: Level = Level::Debug;

    fn count(&self, metrics: &Metrics) {
        metrics.connections_ended.with_label_values(&[self.outcome.word()]).inc();
    }
}
