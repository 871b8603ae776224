//! Gateway requests: decided from the head alone, before a byte of the body is read.

use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;

use super::context::{Context, GatewayRoute, Route};
use super::refusal::Refusal;
use super::{headers, refuse};
use crate::ai::{Decision, provider};
use crate::routing::GatewayPath;
use crate::snapshot::Snapshot;

/// Decides where a gateway request goes, or that it goes nowhere.
pub(super) fn route(session: &Session, ctx: &mut Context) -> Result<()> {
    let snapshot = std::sync::Arc::clone(&ctx.snapshot);
    let request = session.req_header();
    let path = std::str::from_utf8(request.raw_path()).ok().and_then(GatewayPath::parse);
    let presented = headers::gateway_token(&request.headers, &snapshot.token_headers);
    let known_provider = path.map_or("unknown", |path| {
        if snapshot.gateways.providers.contains_key(path.provider) { path.provider } else { "unknown" }
    });
    match (snapshot.gateways.decide(path, presented), path) {
        (Decision::Forward { gateway, provider }, Some(path)) => {
            let target = provider::path(&provider.slug, &provider.base_path, path.rest);
            ctx.route = Route::Gateway(GatewayRoute {
                label: gateway.label.clone(),
                provider: provider.slug.clone(),
                target: target + path.query,
            });
            Ok(())
        }
        (Decision::Refuse { error, gateway }, _) => {
            ctx.route = Route::Gateway(GatewayRoute {
                label: gateway.map_or_else(|| "unknown".to_owned(), |gateway| gateway.label.clone()),
                provider: known_provider.to_owned(),
                target: String::new(),
            });
            refuse(ctx, Refusal::Gateway(error))
        }
        (Decision::Forward { .. }, None) => refuse(ctx, Refusal::Internal),
    }
}

/// Makes the request the provider's: its path, its host, nothing of ours. All else stays as sent.
pub(super) fn to_provider(
    route: &GatewayRoute,
    snapshot: &Snapshot,
    request: &mut RequestHeader,
) -> Result<()> {
    headers::strip_gateway(request, &snapshot.token_headers)?;
    request.set_raw_path(route.target.as_bytes())?;
    if let Some(provider) = snapshot.gateways.providers.get(&route.provider) {
        request.insert_header("host", &provider.authority)?;
    }
    Ok(())
}
