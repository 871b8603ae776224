//! Routes of the admin port.

use axum::Router;
use axum::extract;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::auth;
use super::envelope::ApiError;
use super::resources::{ai_logs, rulesets};
use crate::events::Events;
use crate::snapshot::SnapshotHandle;
use model::Secret;
use store::RecordReader;

/// What handlers share.
#[derive(Clone)]
pub struct State {
    pub(super) snapshots: SnapshotHandle,
    events: Events,
    tokens: std::sync::Arc<[Secret]>,
    draining: watch::Receiver<bool>,
    records: Records,
}

/// The AI log, for one reader at a time.
pub type Records = std::sync::Arc<Mutex<Box<dyn RecordReader>>>;

impl State {
    pub fn new(
        snapshots: SnapshotHandle,
        events: Events,
        tokens: Vec<Secret>,
        draining: watch::Receiver<bool>,
        records: Box<dyn RecordReader>,
    ) -> Self {
        let records = std::sync::Arc::new(Mutex::new(records));
        Self { snapshots, events, tokens: tokens.into(), draining, records }
    }

    /// Reads the AI log on a thread that may wait for it.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn RecordReader) -> Result<T, String> + Send + 'static,
    ) -> Result<T, ApiError> {
        let records = std::sync::Arc::clone(&self.records);
        let outcome = tokio::task::spawn_blocking(move || read(records.lock().as_ref())).await;
        outcome.ok().and_then(Result::ok).ok_or(ApiError::Unavailable)
    }
}

pub(super) fn router(state: State) -> Router {
    let managed = Router::new()
        .route("/accounts/{account_id}/rulesets", get(rulesets::list))
        .route("/accounts/{account_id}/rulesets/{ruleset_id}", get(rulesets::find))
        .route("/zones/{zone_id}/rulesets/phases/{phase}/entrypoint", get(rulesets::entry_point))
        .route("/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs", get(ai_logs::list))
        .route("/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs/{id}", get(ai_logs::find))
        .route(
            "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs/{id}/request",
            get(ai_logs::request),
        )
        .route(
            "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs/{id}/response",
            get(ai_logs::response),
        )
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .fallback(async || ApiError::NoSuchRoute)
        .layer(middleware::from_fn_with_state(state.clone(), authenticate));
    Router::new()
        .nest("/client/v4", managed)
        .route("/metrics", get(metrics))
        .route("/health/live", get(async || "live\n"))
        .route("/health/ready", get(ready))
        .layer(middleware::from_fn(with_length))
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

/// Refuses a body without a length. Nothing here takes one, and a length beside it would be a second reading of
/// where the request ends (RFC 9112 section 6.1).
async fn with_length(request: extract::Request, next: Next) -> Response {
    if !request.headers().contains_key(header::TRANSFER_ENCODING) {
        return next.run(request).await;
    }
    (StatusCode::BAD_REQUEST, [(header::CONNECTION, "close")], "a body takes `Content-Length` here\n")
        .into_response()
}

async fn metrics(extract::State(state): extract::State<State>) -> impl IntoResponse {
    let (snapshot, metrics) = (state.snapshots.load(), state.events.metrics());
    // A request may end, and be counted, after its zone is gone.
    let names = snapshot.zone_names();
    metrics.keep_zones(|zone| names.contains(zone));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics.render())
}

/// Not ready while the process drains, so that balancers look elsewhere.
async fn ready(extract::State(state): extract::State<State>) -> impl IntoResponse {
    if *state.draining.borrow() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}
