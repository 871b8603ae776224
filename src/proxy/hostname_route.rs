//! Where requests of custom hostnames go.

use pingora::upstreams::peer::HttpPeer;

use super::Edge;
use super::context::Context;
use super::record_pool::RecordPool;
use super::refusal::Refusal;
use super::zone_traffic::encrypts;
use crate::routing::HostnameSite;
use crate::snapshot::{CompiledZone, HostRoute, Site, Snapshot};
use model::CustomHostname;
use model::custom_hostname::OriginServerName;

/// Says which name TLS asks an origin for, if that is not the one of its address.
pub(super) fn name_peer(peer: &mut HttpPeer, is_of_record: bool, ctx: &Context) {
    match (&ctx.decisions.origin.server_name, &ctx.hostname) {
        (Some(name), _) => peer.sni.clone_from(name),
        (None, Some(hostname)) => {
            if let Some(name) = origin_server_name(hostname, ctx) {
                peer.sni = name.to_owned();
            }
        }
        // It is asked as the host, whatever its address.
        (None, None) if is_of_record => peer.sni.clone_from(&ctx.host),
        (None, None) => {}
    }
}

/// The name that TLS asks the origin of a custom hostname for; `None` if the address of the origin says it.
fn origin_server_name<'c>(site: &'c HostnameSite, ctx: &'c Context) -> Option<&'c str> {
    let origin = site.hostname.origin.as_deref();
    match origin.and_then(|origin| origin.sni.as_ref()) {
        Some(OriginServerName::RequestHost) => Some(&ctx.host),
        Some(OriginServerName::Name(name)) => Some(name),
        None => {
            let snapshot = &ctx.snapshot;
            let fallback = snapshot.resources.zones.get(&site.hostname.zone)?.fallback_origin.as_deref();
            let server = origin.and_then(|origin| origin.server.as_deref());
            server.or_else(|| fallback.map(|fallback| fallback.origin.as_str()))
        }
    }
}

impl Edge {
    /// The site of a request's host, with where its requests go; `None` if there is none.
    ///
    /// # Errors
    /// Why it is not served.
    pub(super) fn site<'s>(
        &self,
        snapshot: &'s Snapshot,
        ctx: &mut Context,
    ) -> Result<Option<&'s Site>, Refusal> {
        match snapshot.route(&ctx.host) {
            HostRoute::Site { site, is_shadowed } => {
                if let Site::Zone(zone) = site {
                    let is_tls = encrypts(snapshot, zone, ctx);
                    ctx.record_pool = self.record_pool(snapshot, zone, &ctx.host, is_tls);
                    ctx.record_pool.shadow(is_shadowed, zone);
                }
                Ok(Some(site))
            }
            HostRoute::Hostname { hostname, zone } => {
                let is_tls = encrypts(snapshot, zone, ctx);
                ctx.record_pool = self.hostname_pool(snapshot, zone, &hostname.hostname, is_tls);
                ctx.hostname = Some(hostname.clone());
                Ok(snapshot.sites.get(&zone.name))
            }
            HostRoute::Unverified => Err(Refusal::HostnameUnverified),
            HostRoute::Unknown => Ok(None),
        }
    }

    /// Where requests of a custom hostname go: its own origin, else the fallback origin of its zone.
    fn hostname_pool(
        &self,
        snapshot: &Snapshot,
        zone: &CompiledZone,
        hostname: &CustomHostname,
        is_tls: bool,
    ) -> RecordPool {
        let own = hostname.origin.as_deref().and_then(|origin| origin.server.as_deref());
        let fallback = zone.source.fallback_origin.as_deref().map(|fallback| fallback.origin.as_str());
        let Some(origin) = own.or(fallback) else { return RecordPool::None(Refusal::FallbackOriginMissing) };
        match self.record_pool(snapshot, zone, origin, is_tls) {
            RecordPool::None(Refusal::NoRecord) => RecordPool::None(Refusal::FallbackOriginMissing),
            RecordPool::OfZone if zone.pool.origins.is_empty() => {
                RecordPool::None(Refusal::FallbackOriginMissing)
            }
            found => found,
        }
    }
}
