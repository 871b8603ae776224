//! Rulesets: the managed ones of an account, the entry points of zones (spec, "Rulesets").

use axum::extract::{Path, State};
use axum::response::Response;

use crate::api::envelope::{self, ApiError};
use crate::api::router::State as Shared;

/// `GET /accounts/{account_id}/rulesets`: without rules.
pub(in crate::api) async fn list(State(shared): State<Shared>) -> Response {
    let snapshot = shared.snapshots.load();
    let rulesets: Vec<_> = snapshot.managed.iter().map(|managed| managed.to_model(false)).collect();
    envelope::result(rulesets)
}

/// `GET /accounts/{account_id}/rulesets/{ruleset_id}`: with rules.
pub(in crate::api) async fn find(
    State(shared): State<Shared>,
    Path((_account, ruleset)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let snapshot = shared.snapshots.load();
    let managed = snapshot
        .managed
        .iter()
        .find(|managed| managed.id.as_str() == ruleset)
        .ok_or(ApiError::NoSuchRuleset)?;
    Ok(envelope::result(managed.to_model(true)))
}

/// `GET /zones/{zone_id}/rulesets/phases/{phase}/entrypoint`
pub(in crate::api) async fn entry_point(
    State(shared): State<Shared>,
    Path((zone, phase)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let snapshot = shared.snapshots.load();
    let zone = snapshot.zones().find(|known| known.id.as_str() == zone).ok_or(ApiError::NoSuchZone)?;
    let ruleset =
        zone.rulesets.iter().find(|ruleset| ruleset.phase.word() == phase).ok_or(ApiError::NoSuchRuleset)?;
    Ok(envelope::result(ruleset))
}
