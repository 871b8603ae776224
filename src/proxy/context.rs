//! What is known of one request on its way through.

use crate::upstream::Pool;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue};
use pingora::http::ResponseHeader;

use super::caching::CacheStatus;
use super::call::Call;
use super::error_pages::ErrorBody;
use super::held_bodies::Share;
use super::loops::LoopName;
use super::messages::MessageStream;
use super::record_pool::RecordPool;
use super::refusal::Refusal;
use super::request_body::RequestBody;
use crate::ai::Gateway;
use crate::ai::call_scan::ScanVerdict;
use crate::clock::Stopwatch;
use crate::events::ZoneLabel;
use crate::events::spans::TraceContext;
use crate::routing::HostnameSite;
use crate::ruleset::{Decisions, FieldEdit, Outcome, Run, Verdict};
use crate::scanning::Tee;
use crate::snapshot::{CompiledZone, Snapshot};
use crate::upstream::Origin;
use body::compress::Encoder;
use challenge::RenderedPage;
use counters::RateExceeded;
use expression::ReadBody;
use model::ruleset::BlockResponse;
use model::zone::ClientCertificates;
use model::{Account, Measure};

/// Per-request state. The snapshot is loaded once, here.
pub struct Context {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) started: Stopwatch,
    pub(super) loop_name: LoopName,
    /// Models that dynamic routes have asked for it.
    pub(super) routed_models: usize,
    pub(super) ray: String,
    pub(super) peer: IpAddr,
    pub(super) client: IpAddr,
    /// The address that it connected to.
    pub(super) server: Option<IpAddr>,
    pub(super) client_text: HeaderValue,
    pub(super) tls: bool,
    /// Whether that is TLS 1.3.
    pub(super) is_tls_1_3: bool,
    /// Whose certificate the client has shown, if it has.
    pub(super) client_certificates: Option<Arc<ClientCertificates>>,
    /// Where the same is spoken otherwise.
    pub(super) alternative: Option<HeaderValue>,
    /// In normal form; empty until the request is admitted.
    pub(super) host: String,
    pub(super) route: Route,
    /// The custom hostname that the host is, if it is one.
    pub(super) hostname: Option<HostnameSite>,
    /// Where DNS records of the host lead.
    pub(super) record_pool: RecordPool,
    pub(super) refusal: Option<Refusal>,
    /// What was wrong with a request, for who sent it.
    pub(super) reason: Option<String>,
    /// What was found in a request that may not be forwarded.
    pub(super) held_back: Option<ScanVerdict>,
    /// What is left of the limit that a call would have passed.
    pub(super) exceeded: Option<(Measure, u64)>,
    pub(super) rules: Option<Run>,
    pub(super) rules_time: Duration,
    /// Whether its rules are timed one by one.
    pub(super) times_rules: bool,
    pub(super) verdict: Verdict,
    /// What entry points decided besides.
    pub(super) decisions: Decisions,
    /// The answer of the rule that refused it, if that has one of its own.
    pub(super) block_response: Option<Arc<BlockResponse>>,
    /// Its body, if rules that people wrote ask for it.
    pub(super) read_body: Option<Arc<ReadBody<Bytes>>>,
    /// The whole answer that replaces an origin's, or comes from a service that is asked about the request.
    pub(super) whole_answer: Option<Box<(ResponseHeader, Bytes)>>,
    /// The page that replaces the body while the rest of an origin's answer goes on to the client.
    pub(super) error_body: Option<ErrorBody>,
    /// Compresses the answer.
    pub(super) encoder: Option<Box<Encoder>>,
    /// The rate that it came past.
    pub(super) rate_exceeded: Option<RateExceeded>,
    /// The page that has its client solve a puzzle.
    pub(super) challenge_page: Option<Box<RenderedPage>>,
    /// Its place in a trace, if spans are kept.
    pub(super) trace: Option<TraceContext>,
    /// Who sends it, by name and password.
    pub(super) authenticated_user: Option<String>,
    /// Whether a service that was asked about it let it go on.
    pub(super) is_vouched_for: bool,
    /// What services said of the client, for the origin.
    pub(super) auth_fields: Vec<(HeaderName, HeaderValue)>,
    /// What browsers show that ask for a password.
    pub(super) realm: Option<String>,
    /// Where a rule leads the client.
    pub(super) location: Option<String>,
    /// Path and query as the client sent them, if rules changed them.
    pub(super) sent_target: Option<Vec<u8>>,
    /// What rules changed of the header fields that the origin gets.
    pub(super) field_edits: Vec<FieldEdit>,
    pub(super) body: RequestBody,
    /// Of its body, what went on to an origin; counted if there is a limit.
    pub(super) uploaded_bytes: u64,
    /// If the body is a stream of messages that are judged one by one.
    pub(super) messages: Option<Box<MessageStream>>,
    /// Whether it asks for a WebSocket.
    pub(super) is_web_socket: bool,
    pub(super) response_hold: Option<Hold>,
    /// Whether an upstream was looked for.
    pub(super) is_forwarded: bool,
    pub(super) tried: Vec<Arc<Origin>>,
    /// Whether its client gets the cookie that keeps it with one origin.
    pub(super) gets_affinity: bool,
    pub(super) attempt: Option<InFlight>,
    pub(super) origin_status: u16,
    /// Where its answer came from, if its zone keeps responses.
    pub(super) cache_status: Option<CacheStatus>,
    /// Boxed, for most requests have none and all move their context about.
    pub(super) tee: Option<Box<Tee>>,
}

/// Where a request goes.
pub(super) enum Route {
    Unknown,
    Zone(Arc<CompiledZone>),
    /// Boxed, for a call is large and all requests move their context about.
    Gateway(Box<GatewayRoute>),
    /// A query of a resolver.
    Names,
}

/// A gateway request, by names for its metrics.
pub(super) struct GatewayRoute {
    /// The account of the gateway; the default one if there is no such gateway.
    pub(super) account: String,
    pub(super) label: String,
    pub(super) provider: String,
    /// Path and query towards the provider.
    pub(super) target: String,
    /// `None` if it is refused.
    pub(super) call: Option<Call>,
}

impl Route {
    /// A call on its way; path and query towards the provider.
    pub(super) fn of_call(call: Call, target: String) -> Self {
        let mut route = GatewayRoute::of(Some(&call.gateway), &call.provider.slug);
        (route.target, route.call) = (target, Some(call));
        Self::Gateway(Box::new(route))
    }

    /// A gateway request that goes nowhere, or not yet.
    pub(super) fn without_call(gateway: Option<&Gateway>, provider: &str) -> Self {
        Self::Gateway(Box::new(GatewayRoute::of(gateway, provider)))
    }
}

impl GatewayRoute {
    fn of(gateway: Option<&Gateway>, provider: &str) -> Self {
        let (account, label) =
            gateway.map_or((Account::DEFAULT, "unknown"), |gateway| (&gateway.account, &gateway.label));
        Self {
            account: account.to_owned(),
            label: label.to_owned(),
            provider: provider.to_owned(),
            target: String::new(),
            call: None,
        }
    }
}

/// The request to the origin that is under way.
pub(super) struct InFlight {
    /// Counts the request at its origin until it is dropped.
    pub(super) _guard: crate::upstream::InFlight,
    pub(super) origin: Arc<Origin>,
    /// Runs since the origin is asked.
    pub(super) begun: Stopwatch,
}

/// A response body held back until the rules have seen it.
pub(super) struct Hold {
    pub(super) bytes: BytesMut,
    pub(super) share: Share,
}

impl Context {
    /// Whether its peer is a proxy whose fields about the client are believed.
    pub(super) fn peer_is_trusted(&self) -> bool {
        self.snapshot.trusted_proxies.iter().any(|network| network.contains(&self.peer))
    }

    /// The origins that the request may go to.
    pub(super) fn pool(&self) -> Option<Arc<Pool>> {
        match &self.route {
            Route::Zone(zone) => {
                let chosen = self.decisions.origin.origin.as_ref().and_then(|origin| zone.routes.get(origin));
                match (chosen, &self.record_pool) {
                    (Some(chosen), _) if !chosen.origins.is_empty() => Some(Arc::clone(chosen)),
                    (_, RecordPool::Pool(pool)) => Some(Arc::clone(pool)),
                    (_, RecordPool::None(_)) => None,
                    (_, RecordPool::OfZone) => Some(Arc::clone(&zone.pool)),
                }
            }
            Route::Gateway(route) => route.call.as_ref().map(|call| Arc::clone(&call.provider.pool)),
            Route::Names | Route::Unknown => None,
        }
    }

    /// What its custom hostname brings with it.
    pub(super) fn hostname_metadata(&self) -> Option<&Arc<str>> {
        self.hostname.as_ref()?.hostname.metadata.as_ref()
    }

    pub(super) fn new(snapshot: Arc<Snapshot>, started: Stopwatch, loop_name: LoopName) -> Self {
        Self {
            snapshot,
            started,
            loop_name,
            routed_models: 0,
            ray: String::new(),
            peer: Ipv4Addr::UNSPECIFIED.into(),
            client: Ipv4Addr::UNSPECIFIED.into(),
            server: None,
            client_text: HeaderValue::from_static(""),
            tls: false,
            is_tls_1_3: false,
            client_certificates: None,
            alternative: None,
            host: String::new(),
            route: Route::Unknown,
            hostname: None,
            record_pool: RecordPool::default(),
            refusal: None,
            reason: None,
            held_back: None,
            exceeded: None,
            rules: None,
            rules_time: Duration::ZERO,
            times_rules: false,
            verdict: Verdict::default(),
            decisions: Decisions::default(),
            block_response: None,
            read_body: None,
            whole_answer: None,
            error_body: None,
            encoder: None,
            rate_exceeded: None,
            challenge_page: None,
            trace: None,
            authenticated_user: None,
            is_vouched_for: false,
            auth_fields: Vec::new(),
            realm: None,
            location: None,
            sent_target: None,
            field_edits: Vec::new(),
            body: RequestBody::default(),
            uploaded_bytes: 0,
            messages: None,
            is_web_socket: false,
            response_hold: None,
            is_forwarded: false,
            tried: Vec::new(),
            gets_affinity: false,
            attempt: None,
            origin_status: 0,
            cache_status: None,
            tee: None,
        }
    }

    /// The gateway call, if this is one.
    pub(super) fn call(&mut self) -> Option<&mut Call> {
        match &mut self.route {
            Route::Gateway(route) => route.call.as_mut(),
            Route::Zone(_) | Route::Names | Route::Unknown => None,
        }
    }

    /// Whose it is, for metrics and events.
    pub(super) fn zone_label(&self) -> ZoneLabel<'_> {
        match &self.route {
            Route::Unknown => ZoneLabel::UNKNOWN,
            Route::Names => ZoneLabel::NAMES,
            Route::Zone(zone) => ZoneLabel::of_zone(&zone.name, &zone.id, &zone.source.account),
            Route::Gateway(route) => ZoneLabel::of_gateway(&route.account),
        }
    }

    /// How the request was judged, in one word.
    pub(super) fn verdict_word(&self) -> &'static str {
        match (&self.verdict.outcome, self.refusal) {
            (Outcome::Blocked { .. }, _) => "block",
            (Outcome::Challenged { .. }, _) => "challenge",
            (_, Some(Refusal::Redirect(_))) => "redirect",
            (Outcome::Logged { .. }, Some(Refusal::ErrorPage(_))) => "log",
            (Outcome::Pass, Some(Refusal::ErrorPage(_))) => "pass",
            (_, Some(_)) => "refused",
            (Outcome::Logged { .. }, None) => "log",
            (Outcome::Pass, None) => "pass",
        }
    }
}
