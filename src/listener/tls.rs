//! TLS of a listener: 1.2 and 1.3, HTTP/2 and HTTP/1.1, resumption, certificates from the snapshot.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert, ServerSessionMemoryCache};
use rustls::sign::CertifiedKey;

use crate::conf::ListenerProtocol;
use crate::snapshot::SnapshotHandle;

/// Sessions kept for clients that resume without tickets.
const SESSION_CACHE: usize = 10_240;

/// The settings of a listener's TLS.
///
/// # Errors
/// If the system has no random numbers for tickets.
pub(super) fn server_config(
    address: SocketAddr,
    protocol: ListenerProtocol,
    snapshots: SnapshotHandle,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(FromSnapshot { address, snapshots }));
    config.alpn_protocols = match protocol {
        ListenerProtocol::Http => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        ListenerProtocol::Dns => vec![b"dot".to_vec()],
    };
    config.session_storage = ServerSessionMemoryCache::new(SESSION_CACHE);
    config.ticketer = rustls::crypto::aws_lc_rs::Ticketer::new()?;
    Ok(Arc::new(config))
}

/// Certificates of the snapshot in use, so that a changed file is a new snapshot and no restart.
#[derive(Debug)]
struct FromSnapshot {
    address: SocketAddr,
    snapshots: SnapshotHandle,
}

impl ResolvesServerCert for FromSnapshot {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let snapshot = self.snapshots.load();
        snapshot.certificates.get(&self.address)?.select(hello.server_name())
    }
}
