//! Routes of the admin port: the operations of the API, metrics and health.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{self, RawPathParams};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get};
use axum::{RequestExt, Router};
use http::{HeaderValue, Request, StatusCode, header};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::auth::permission::PermissionLevel;
use super::auth::scope::ScopeSubject;
use super::auth::{self, Actor, Operators};
use super::deprecated::{self, CallAbout, CallRows, OldCaller};
use super::error::{self, ApiError, ApiErrors};
use super::idempotency::{self, FirstOrKnown, KeptAnswers};
use super::issuance_rate::Issuances;
use super::operation::{Answer, ApiCall, InputShape, Operation, Verb};
use super::token_rates::TokenRates;
use super::{page, request_body, resources};
use crate::clock::{Clock, rfc3339};
use crate::control::Control;
use crate::events::Events;
use crate::jobs::LastLooks;
use crate::names::ElsewhereKnown;
use crate::old_uses::OldUses;
use crate::response_cache::ResponseCache;
use crate::snapshot::{Snapshot, SnapshotHandle};
use model::CalendarDate;
use store::{RecordReader, SecurityLog, StoreError};

/// Longest idempotency key.
const MAX_KEY_BYTES: usize = 255;
/// The path of all operations.
pub(super) const PREFIX: &str = "/client/v4";

/// What operations share.
#[derive(Clone)]
pub struct State {
    pub(super) snapshots: SnapshotHandle,
    pub(super) control: Control,
    pub(super) events: Events,
    clock: Clock,
    operators: Arc<Operators>,
    draining: watch::Receiver<bool>,
    records: Records,
    security_log: Arc<Mutex<SecurityLog>>,
    /// Whether webhooks may be in private networks.
    pub(super) may_be_private: bool,
    answers: Arc<KeptAnswers>,
    pub(super) issuances: Issuances,
    token_rates: Arc<TokenRates>,
    /// What keys of providers are sealed with.
    pub(super) secrets_key: Option<gateway::vault::MasterKey>,
    pub(super) elsewhere: ElsewhereKnown,
    pub(super) looks: LastLooks,
    pub(super) old_uses: OldUses,
    pub(super) response_cache: &'static ResponseCache,
}

/// The AI log, for one reader at a time.
pub type Records = Arc<Mutex<Box<dyn RecordReader>>>;

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client(pub(super) SocketAddr);

impl State {
    pub fn new(
        control: Control,
        (events, clock): (Events, Clock),
        operators: Operators,
        draining: watch::Receiver<bool>,
        (records, security_log, old_uses): (Box<dyn RecordReader>, Arc<Mutex<SecurityLog>>, OldUses),
        secrets_key: Option<gateway::vault::MasterKey>,
        response_cache: &'static ResponseCache,
    ) -> Self {
        Self {
            snapshots: control.handle().clone(),
            control,
            events,
            clock,
            token_rates: Arc::new(TokenRates::new(operators.rate_limit)),
            draining,
            records: Arc::new(Mutex::new(records)),
            may_be_private: operators.may_be_private,
            security_log,
            answers: Arc::default(),
            issuances: Issuances::default(),
            secrets_key,
            elsewhere: ElsewhereKnown::default(),
            looks: LastLooks::default(),
            old_uses,
            response_cache,
            operators: Arc::new(operators),
        }
    }

    /// What is known of zones elsewhere.
    pub fn elsewhere(&self) -> &ElsewhereKnown {
        &self.elsewhere
    }

    /// What was used of what ends.
    pub fn old_uses(&self) -> &OldUses {
        &self.old_uses
    }

    /// What was last seen of custom hostnames.
    pub fn looks(&self) -> &LastLooks {
        &self.looks
    }

    /// Reads the AI log on a thread that may wait for it.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn RecordReader) -> Result<T, String> + Send + 'static,
    ) -> Result<T, ApiErrors> {
        let records = Arc::clone(&self.records);
        let outcome = tokio::task::spawn_blocking(move || read(records.lock().as_ref())).await;
        let failed = || ApiError::new(error::UNAVAILABLE, "the log cannot be read now").into();
        outcome.ok().and_then(Result::ok).ok_or_else(failed)
    }

    /// Reads security events on a thread that may wait for them.
    pub(super) async fn read_security<T: Send + 'static>(
        &self,
        read: impl FnOnce(&SecurityLog) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ApiErrors> {
        let log = Arc::clone(&self.security_log);
        let outcome = tokio::task::spawn_blocking(move || read(&log.lock())).await;
        let failed = || ApiError::new(error::UNAVAILABLE, "security events cannot be read now").into();
        outcome.ok().and_then(Result::ok).ok_or_else(failed)
    }
}

pub(super) fn router(state: State) -> Router {
    let mut managed = Router::new();
    for operation in resources::all().chain(deprecated::not_here()) {
        let filter = match operation.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
            Verb::Put => MethodFilter::PUT,
            Verb::Patch => MethodFilter::PATCH,
            Verb::Delete => MethodFilter::DELETE,
        };
        let handler = move |extract::State(state): extract::State<State>, request: extract::Request| {
            answer(state, operation, request)
        };
        managed = managed.route(operation.path, axum::routing::on(filter, handler));
    }
    let managed = managed
        .method_not_allowed_fallback(
            async |extract::State(state): extract::State<State>, request: extract::Request| {
                let message = format!("Method {} not available for that URI.", request.method());
                refuse(&state, &request, ApiError::new(error::BAD_METHOD, message))
            },
        )
        .fallback(async |extract::State(state): extract::State<State>, request: extract::Request| {
            refuse(&state, &request, ApiError::new(error::NO_ROUTE, "No route for that URI"))
        });
    let routes = Router::new()
        .nest(PREFIX, managed)
        .merge(page::routes())
        .route("/metrics", get(metrics))
        .route("/health/live", get(async || "live\n"))
        .route("/health/ready", get(ready))
        .layer(middleware::from_fn(with_length))
        .with_state(state);
    // A layer of a router sees a request when its route is found, so this one is about a router.
    Router::new().fallback_service(routes).layer(middleware::map_request(without_final_slash))
}

/// `/zones/` is `/zones`: some clients write it so.
async fn without_final_slash<B>(mut request: Request<B>) -> Request<B> {
    let uri = request.uri();
    let path = uri.path();
    if let Some(shorter) = path.strip_suffix('/').filter(|path| path.starts_with(PREFIX)) {
        let target = uri.query().map_or_else(|| shorter.to_owned(), |query| format!("{shorter}?{query}"));
        if let Ok(target) = target.parse() {
            *request.uri_mut() = target;
        }
    }
    request
}

/// Answers an error to those who may know it.
fn refuse(state: &State, request: &extract::Request, error: ApiError) -> Response {
    let snapshot = state.snapshots.load();
    let admitted = auth::admit(
        request.headers(),
        client(request),
        state.clock.unix().as_secs(),
        &state.operators,
        &snapshot.resources,
    );
    ApiErrors::from(admitted.err().unwrap_or(error)).into_response()
}

fn client<B>(request: &Request<B>) -> IpAddr {
    let unknown = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
    request.extensions().get::<Client>().map_or(unknown, |client| client.0.ip())
}

/// Runs an operation: who asks is judged before anything is read of the body.
async fn answer(state: State, operation: &'static Operation, mut request: extract::Request) -> Response {
    let parameters = match request.extract_parts::<RawPathParams>().await {
        Ok(parameters) => {
            parameters.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }
        Err(_) => Vec::new(),
    };
    let outcome = call(&state, operation, parameters, request).await;
    outcome.unwrap_or_else(IntoResponse::into_response)
}

async fn call(
    state: &State,
    operation: &'static Operation,
    parameters: Vec<(String, String)>,
    request: extract::Request,
) -> Result<Response, ApiErrors> {
    let snapshot = state.snapshots.load();
    let unix = state.clock.unix().as_secs();
    let actor = auth::admit(request.headers(), client(&request), unix, &state.operators, &snapshot.resources)
        .map_err(|error| of_verify(operation, error))?;
    let left = match state.token_rates.count(actor.key(), unix) {
        Ok(left) => left,
        Err(refused) => {
            let (error, left) = *refused;
            let mut response = ApiErrors::from(error).into_response();
            left.write(response.headers_mut(), true);
            return Ok(response);
        }
    };
    let day = deprecated::requested_day(request.headers(), &snapshot.deprecations);
    let asked = day.as_ref().ok().copied().flatten();
    let outcome = match day {
        Ok(day) => admitted(state, operation, parameters, request, (actor, day), snapshot).await,
        Err(error) => Err(error.into()),
    };
    let mut response = outcome.unwrap_or_else(IntoResponse::into_response);
    deprecated::write_version(asked, response.headers_mut());
    if let Some(left) = left {
        left.write(response.headers_mut(), false);
    }
    Ok(response)
}

/// Runs an operation for somebody who is known.
async fn admitted(
    state: &State,
    operation: &'static Operation,
    parameters: Vec<(String, String)>,
    request: extract::Request,
    (actor, day): (Actor, Option<CalendarDate>),
    snapshot: Arc<Snapshot>,
) -> Result<Response, ApiErrors> {
    let unix = state.clock.unix().as_secs();
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or("");
    let mut call = ApiCall {
        shared: state.clone(),
        actor,
        parameters,
        query: request_body::form_urlencoded(query),
        body: Value::Null,
        headers: parts.headers,
        snapshot,
        now: rfc3339(state.clock.now()),
        unix,
        path: parts.uri.path().trim_start_matches(PREFIX).to_owned(),
        request: None,
        old: None,
    };
    // What is of an account or a zone, but names none, is of all.
    let subject = match call.subject() {
        ScopeSubject::User if operation.permission.level() != PermissionLevel::User => ScopeSubject::Unknown,
        subject => subject,
    };
    call.actor.check(operation.permission, &subject)?;
    let about = CallAbout {
        operation: operation.name(),
        actor: &call.actor,
        subject: &subject,
        day,
        query: &call.query,
        has_body: operation.input.is_some(),
        unix,
    };
    call.old = CallRows::of(&call.snapshot, about);
    let Some(rows) = call.old.clone() else { return decided(state, operation, call, query, body).await };
    let caller = OldCaller::of(&rows, &call, &subject);
    let outcome = decided(state, operation, call, query, body).await;
    let mut response = outcome.unwrap_or_else(IntoResponse::into_response);
    caller.count(&rows, &state.old_uses, &state.events);
    deprecated::write_headers(&rows, caller.successor.as_deref(), response.headers_mut());
    Ok(response)
}

/// Decides on a call whose token may ask for it, and runs it.
async fn decided(
    state: &State,
    operation: &'static Operation,
    mut call: ApiCall,
    query: &str,
    body: Body,
) -> Result<Response, ApiErrors> {
    let unix = call.unix;
    if let Some(rows) = &call.old {
        deprecated::check_operation(rows, &call, operation.verb)?;
        deprecated::check_query(rows, &call.query)?;
    }
    check_query(&call, operation)?;
    request_body::check_coding(&call.headers)?;
    let text = request_body::read(body).await?;
    let key = call.headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
    if key.as_ref().is_some_and(|key| key.len() > MAX_KEY_BYTES) {
        let message = format!("an idempotency key has at most {MAX_KEY_BYTES} bytes");
        return Err(ApiError::new(error::BAD_HEADERS, message).into());
    }
    let key = key.filter(|_| operation.verb != Verb::Get);
    // A request that is served otherwise is another. The day itself is not: clients send today's, and try again at midnight.
    let served = call.old.as_ref().map_or_else(String::new, |rows| rows.how_served());
    let question = || format!("{} {}?{query}{served}", operation.verb.word(), call.path);
    call.request = key.map(|key| idempotency::keyed_request(call.actor.key(), &key, &question(), &text));
    let under_way = match &call.request {
        Some(request) => match state.answers.begin(request, unix)? {
            FirstOrKnown::Known(known) => return Ok(*known),
            FirstOrKnown::First(under_way) => Some(under_way),
        },
        None => None,
    };
    if let Some(under_way) = &under_way {
        under_way.check(&state.control).await?;
    }
    call.body = match operation.input {
        Some(InputShape::Form(_)) => request_body::form(&call.headers, &text)?,
        Some(InputShape::Object(_) | InputShape::List(_)) => request_body::parse(&text)?,
        None => Value::Null,
    };
    let unknown = match call.old.clone() {
        Some(rows) => deprecated::check_body(&rows, &mut call.body)?,
        None => Vec::new(),
    };
    let Some(under_way) = under_way else {
        return Ok(run(operation, call, unknown).await?.into_response());
    };
    // It goes on though its client may be gone, so that the client hears how it ended when it asks again.
    let answered = tokio::spawn(async move {
        let response = run(operation, call, unknown).await?.into_response();
        Ok(under_way.keep(unix, response).await)
    });
    let failed =
        || Err(ApiError::new(error::UNAVAILABLE, "the request failed; it may have taken effect").into());
    answered.await.unwrap_or_else(|_| failed())
}

/// Runs an operation. `unknown` are fields of its body that were dropped before.
async fn run(operation: &'static Operation, call: ApiCall, unknown: Vec<String>) -> Answer {
    let Some(rows) = call.old.clone() else { return (operation.run)(call).await };
    let label = call.label(operation.verb);
    let outcome = (operation.run)(call).await;
    deprecated::finish(&rows, &label, unknown, outcome)
}

/// Who asks whether a token is valid is told so in words of its own.
fn of_verify(operation: &Operation, error: ApiError) -> ApiError {
    if operation.path.ends_with("/tokens/verify") && error.code == error::NOT_ALLOWED {
        ApiError::new(error::INVALID_TOKEN, "Invalid API Token")
    } else {
        error
    }
}

/// Refuses parameters that the operation does not have, because a filter that is passed over answers another question.
fn check_query(call: &ApiCall, operation: &Operation) -> Result<(), ApiErrors> {
    let is_known = |name: &str| operation.query.iter().any(|known| known.name == name);
    let mut unknown = call.query.iter().map(|(name, _)| name.as_str()).filter(|name| !is_known(name));
    match unknown.next() {
        None => Ok(()),
        Some(name) => {
            let known: Vec<&str> = operation.query.iter().map(|known| known.name).collect();
            let expected = if known.is_empty() {
                "this operation has no parameters".to_owned()
            } else {
                format!("expected some of `{}`", known.join("`, `"))
            };
            let message = format!("unknown parameter `{name}`; {expected}");
            Err(ApiError::new(error::BAD_QUERY, message).into())
        }
    }
}

/// Refuses a body without a length. A length beside it would be a second reading of where the request ends (RFC 9112
/// section 6.1).
async fn with_length(request: extract::Request, next: Next) -> Response {
    if !request.headers().contains_key(header::TRANSFER_ENCODING) {
        return next.run(request).await;
    }
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    let message = "a body takes `Content-Length` here, found `Transfer-Encoding`";
    if request.uri().path().starts_with(PREFIX) {
        let error = ApiErrors::from(ApiError::new(error::BODY_LENGTH, message));
        return (close, error.into_response()).into_response();
    }
    (StatusCode::BAD_REQUEST, close, format!("{message}\n")).into_response()
}

async fn metrics(extract::State(state): extract::State<State>) -> impl IntoResponse {
    let metrics = state.events.metrics();
    // A request may end, and be counted, after its zone is gone. One that has just been made has metrics, too: it is
    // looked up when they are.
    metrics.keep_zones(|zone| state.snapshots.load().has_zone(zone));
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
