//! The origins of a host that has proxied DNS records.

use std::net::IpAddr;
use std::sync::Arc;

use super::Edge;
use super::record_targets::{NoTarget, RecordTarget, targets};
use super::refusal::Refusal;
use crate::snapshot::{CompiledZone, Snapshot};
use crate::upstream::{OriginKey, Pool};
use model::OriginProtocol;

/// Where requests for a host of a zone go, by its records.
#[derive(Clone, Default)]
pub(super) enum RecordPool {
    /// The zone's origins: it has no records, or none that is proxied for the host.
    #[default]
    OfZone,
    Pool(Arc<Pool>),
    None(Refusal),
}

impl RecordPool {
    /// Why there is none.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::None(refusal) => Some(*refusal),
            Self::OfZone | Self::Pool(_) => None,
        }
    }

    /// Says that a wildcard would stand for the host if the zone were not there, if the zone has nothing for it.
    pub(super) fn shadow(&mut self, is_shadowed: bool, zone: &CompiledZone) {
        let has_nothing = match self {
            Self::None(refusal) => *refusal == Refusal::NoRecord,
            Self::OfZone => zone.pool.origins.is_empty(),
            Self::Pool(_) => false,
        };
        if is_shadowed && has_nothing {
            *self = Self::None(Refusal::HostnameShadowed);
        }
    }

    /// Whether a pool is the one that records make.
    pub(super) fn is(&self, pool: &Arc<Pool>) -> bool {
        matches!(self, Self::Pool(own) if Arc::ptr_eq(own, pool))
    }
}

impl Edge {
    /// Where requests for a host go; `is_tls` says whether with TLS.
    pub(super) fn record_pool(
        &self,
        snapshot: &Snapshot,
        zone: &CompiledZone,
        host: &str,
        is_tls: bool,
    ) -> RecordPool {
        let Some(found) = targets(snapshot, &zone.source, host) else { return RecordPool::OfZone };
        let found = match found {
            Ok(found) => found,
            Err(NoTarget::NoRecord) if !zone.pool.origins.is_empty() => return RecordPool::OfZone,
            Err(none) => return RecordPool::None(Refusal::of_no_target(none)),
        };
        let (scheme, port) =
            if is_tls { ("https", snapshot.dns.https_port) } else { ("http", snapshot.dns.http_port) };
        let origins = found.iter().filter_map(|target| {
            let host = match target {
                RecordTarget::Address(IpAddr::V6(address)) => format!("[{address}]"),
                RecordTarget::Address(address) => address.to_string(),
                RecordTarget::Host(host) => host.clone(),
            };
            let key = OriginKey {
                zone: zone.name.clone(),
                url: format!("{scheme}://{host}:{port}"),
                http2: zone.source.origin_protocol == OriginProtocol::Http2,
                ca: zone.source.origin_ca.clone(),
            };
            self.record_origins.get(key).ok()
        });
        let mut origins: Vec<_> = origins.collect();
        if origins.is_empty() {
            return RecordPool::None(Refusal::OriginNameUnresolved);
        }
        // A pool of one request begins with the first of its origins.
        let turn = self.record_origins.turn() % origins.len();
        origins.rotate_left(turn);
        let pool = Pool::new(origins, zone.source.balance, None);
        RecordPool::Pool(Arc::new(pool.with_proxy_protocol(zone.source.origin_proxy_protocol)))
    }
}
