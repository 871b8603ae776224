//! An origin as Pingora connects to it.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use pingora::http::RequestHeader;
use pingora::protocols::ALPN;
use pingora::protocols::http::client::HttpSession;
use pingora::protocols::tls::CaType;
use pingora::upstreams::peer::HttpPeer;
use pingora::utils::tls::{WrappedX509, parse_x509};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::origin::Origin;
use crate::conf::UpstreamSettings;
use model::OriginProtocol;

/// Streams on one HTTP/2 connection to an origin.
const MAX_HTTP2_STREAMS: usize = 100;

/// Certificates trusted for one origin.
#[derive(Clone)]
pub struct Trusted(Arc<CaType>);

impl Trusted {
    /// Reads PEM.
    ///
    /// # Errors
    /// One sentence if it holds no certificate, or one that cannot be a root.
    pub fn parse(pem: &str) -> Result<Self, String> {
        let mut roots = rustls::RootCertStore::empty();
        let mut certificates = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate =
                certificate.map_err(|error| format!("the certificates are not PEM: {error}"))?;
            // INVARIANT: what rustls takes as a root parses below, where parsing cannot be refused.
            roots
                .add(certificate.clone())
                .map_err(|error| format!("a certificate cannot be trusted: {error}"))?;
            certificates.push(WrappedX509::new(certificate.to_vec(), parse_x509));
        }
        if certificates.is_empty() {
            return Err("there is no certificate in the file".to_owned());
        }
        Ok(Self(certificates.into()))
    }
}

impl std::fmt::Debug for Trusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} certificates", self.0.len())
    }
}

/// Reads the head of an answer, and passes over those of interim answers (1xx) before it.
///
/// # Errors
/// If the origin breaks off, or answers in no form of HTTP.
pub async fn read_final_head(session: &mut HttpSession) -> pingora::Result<()> {
    session.read_response_header().await?;
    while session.response_header().is_some_and(|head| head.status.is_informational()) {
        session.read_response_header().await?;
    }
    Ok(())
}

/// Sends a request with its whole body, and reads the head of the answer.
///
/// # Errors
/// As of [`read_final_head`].
pub async fn exchange_heads(
    session: &mut HttpSession,
    head: RequestHeader,
    body: Bytes,
) -> pingora::Result<()> {
    session.write_request_header(Box::new(head)).await?;
    if !body.is_empty() {
        session.write_request_body(body, true).await?;
    }
    session.finish_request_body().await?;
    read_final_head(session).await
}

/// The peer for one attempt. Addresses are resolved before: the peer's own look-up would block.
pub fn peer(origin: &Origin, address: SocketAddr, settings: &UpstreamSettings) -> HttpPeer {
    let mut peer = HttpPeer::new(address, origin.url.tls, origin.url.server_name());
    peer.group_key = origin.trust_group;
    let options = &mut peer.options;
    options.connection_timeout = Some(settings.connect_timeout);
    options.total_connection_timeout = Some(settings.connect_timeout);
    options.read_timeout = Some(settings.read_timeout);
    options.write_timeout = Some(settings.read_timeout);
    options.idle_timeout = Some(settings.idle_timeout);
    options.max_h2_streams = MAX_HTTP2_STREAMS;
    options.ca = origin.trusted.as_ref().map(|trusted| Arc::clone(&trusted.0));
    options.alpn = match (origin.protocol, origin.url.tls) {
        (OriginProtocol::Http1, _) => ALPN::H1,
        (OriginProtocol::Http2, true) => ALPN::H2H1,
        (OriginProtocol::Http2, false) => ALPN::H2,
    };
    peer
}
