//! Routes of the admin port.

use axum::Router;
use axum::extract;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use tokio::sync::watch;

use super::auth;
use super::envelope::ApiError;
use super::resources::rulesets;
use crate::conf::units::Secret;
use crate::events::Events;
use crate::snapshot::SnapshotHandle;

/// What handlers share.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) snapshots: SnapshotHandle,
    events: Events,
    tokens: std::sync::Arc<[Secret]>,
    draining: watch::Receiver<bool>,
}

impl State {
    pub fn new(
        snapshots: SnapshotHandle,
        events: Events,
        tokens: Vec<Secret>,
        draining: watch::Receiver<bool>,
    ) -> Self {
        Self { snapshots, events, tokens: tokens.into(), draining }
    }
}

pub(super) fn router(state: State) -> Router {
    let managed = Router::new()
        .route("/accounts/{account_id}/rulesets", get(rulesets::list))
        .route("/accounts/{account_id}/rulesets/{ruleset_id}", get(rulesets::find))
        .route("/zones/{zone_id}/rulesets/phases/{phase}/entrypoint", get(rulesets::entry_point))
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .fallback(async || ApiError::NoSuchRoute)
        .layer(middleware::from_fn_with_state(state.clone(), authenticate));
    Router::new()
        .nest("/client/v4", managed)
        .route("/metrics", get(metrics))
        .route("/health/live", get(async || "live\n"))
        .route("/health/ready", get(ready))
        .with_state(state)
}

async fn authenticate(
    extract::State(state): extract::State<State>,
    request: extract::Request,
    next: Next,
) -> Response {
    match auth::admit(request.headers(), &state.tokens) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn metrics(extract::State(state): extract::State<State>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], state.events.metrics().render())
}

/// Not ready while the process drains, so that balancers look elsewhere.
async fn ready(extract::State(state): extract::State<State>) -> impl IntoResponse {
    if *state.draining.borrow() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}
