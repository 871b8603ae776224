//! Connections for the edge's own requests: to AI providers, to services that judge requests, to webhooks and to collectors.

use std::sync::LazyLock;

use pingora::connectors::http::Connector;

// Each connector reads the certificate authorities of the system, which takes longer than most requests: there are two in all.
static KEPT: LazyLock<Connector> = LazyLock::new(|| Connector::new(None));
static SINGLE: LazyLock<Connector> = LazyLock::new(|| Connector::new(None));

/// Makes connections that are kept for later requests to the same server.
pub fn kept_connections() -> &'static Connector {
    &KEPT
}

/// Makes a connection for each request. INVARIANT: nobody releases one to it, so none is ever an old one that the server may
/// have closed.
pub fn single_connections() -> &'static Connector {
    &SINGLE
}
