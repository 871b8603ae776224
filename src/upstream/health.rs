//! Active checks: a `GET` to each origin of the pools that ask for it.

use std::sync::Arc;
use std::time::Duration;

use pingora::lb::Backend;
use pingora::lb::health_check::{HealthCheck as _, HttpHealthCheck};

use super::origin::Origin;
use super::{peer, proxy_header};
use crate::conf::UpstreamSettings;
use model::{HealthCheck, OriginProxyProtocol};

/// Whether an origin answers a `GET` of the path with a 2xx in time.
pub async fn check(
    origin: &Arc<Origin>,
    (asked, proxy_protocol): (&HealthCheck, OriginProxyProtocol),
    settings: &UpstreamSettings,
    now: Duration,
) -> bool {
    let answers = answers(origin, (&asked.path, proxy_protocol), settings, now);
    tokio::time::timeout(asked.timeout, answers).await.unwrap_or(false)
}

async fn answers(
    origin: &Arc<Origin>,
    (path, proxy_protocol): (&str, OriginProxyProtocol),
    settings: &UpstreamSettings,
    now: Duration,
) -> bool {
    let Ok(address) = origin.address(now).await else { return false };
    let mut check = HttpHealthCheck::new(&origin.url.authority(), origin.url.tls);
    check.peer_template = peer::peer(origin, address, settings);
    proxy_header::begin_with(&mut check.peer_template, proxy_protocol, None);
    check.req.set_uri(path.parse().unwrap_or_default());
    check.validator = Some(Box::new(|response| {
        if response.status.is_success() {
            return Ok(());
        }
        pingora::Error::e_explain(pingora::ErrorType::HTTPStatus(response.status.as_u16()), "health check")
    }));
    let Ok(backend) = Backend::new(&address.to_string()) else { return false };
    check.check(&backend).await.is_ok()
}
