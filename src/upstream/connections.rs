//! Connections for requests that the edge makes by itself: to providers, services of the operator, webhooks and collectors.

use std::sync::LazyLock;

use pingora::connectors::http::Connector;

static CONNECTOR: LazyLock<Connector> = LazyLock::new(|| Connector::new(None));

/// What makes and keeps these connections. One for all of them, because each of its own reads the authorities of the system
/// anew, which takes longer than most of the requests.
pub fn own_requests() -> &'static Connector {
    &CONNECTOR
}
