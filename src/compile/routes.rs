//! Origins that `route` rules of a zone name in place of its own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::Compiling;
use crate::ruleset::{CompiledAction, EntryPoint, EntryPoints};
use crate::upstream::Pool;
use diagnostic::Place;
use model::origin_url::{Host, OriginUrl};
use model::route::RouteOrigin;
use model::{Phase, Zone};

impl Compiling<'_> {
    /// A pool for each origin that rules name: the zone's own, with another host or port.
    pub(super) fn routes(
        &mut self,
        zone: &Zone,
        entry_points: &EntryPoints,
        place: Option<&Place>,
    ) -> BTreeMap<RouteOrigin, Arc<Pool>> {
        let mut routes = BTreeMap::new();
        for rule in entry_points.of(Phase::HttpRequestOrigin).into_iter().flat_map(EntryPoint::all_rules) {
            let CompiledAction::Route(choice) = &rule.action else { continue };
            let Some(to) = choice.origin.as_ref().filter(|to| !routes.contains_key(*to)) else { continue };
            let urls = zone.origins.iter().filter_map(|url| Some(replaced(&OriginUrl::parse(url).ok()?, to)));
            let pool = self.pool(zone, urls.collect::<Vec<_>>(), None, place);
            routes.insert(to.clone(), Arc::new(pool));
        }
        routes
    }
}

fn replaced(url: &OriginUrl, to: &RouteOrigin) -> String {
    let scheme = if url.tls { "https" } else { "http" };
    let host = match (&to.host, &url.host) {
        (Some(host), _) => host.clone(),
        (None, Host::Name(name)) => name.to_string(),
        (None, Host::Address(IpAddr::V6(address))) => format!("[{address}]"),
        (None, Host::Address(address)) => address.to_string(),
    };
    format!("{scheme}://{host}:{}", to.port.unwrap_or(url.port))
}
