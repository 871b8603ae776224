//! Responses that are kept and served again: which requests ask for them, and under what key.
//!
//! Rules, limits and passwords have decided before a kept response is looked for, and rules over responses and the
//! scanner see it as they see an origin's. Everything by which an origin may choose its answer is in the key: without
//! that, one client could choose what others get.

mod armor;
pub(super) mod device;
mod key;

use std::sync::Arc;

use body::compress::ContentEncoding;
use expression::PlaceSource;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use pingora::cache::key::{CacheKey, HashBinary};
use pingora::cache::{
    CacheMeta, CacheOptionOverrides, CachePhase, NoCacheReason, RespCacheable, VarianceBuilder,
};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::proxy::{RangeType, Session, range_header_filter};
use pingora::{Error, ErrorSource, Result};

use self::device::DeviceType;
use self::key::KeyParts;
use super::context::{Context, Route};
use super::headers;
use super::headers::hyphenated;
use super::refusal::Refusal;
use crate::clock::Clock;
use crate::events::Events;
use crate::response_cache::policy::{self, Asked};
use crate::response_cache::{CacheLimits, KeyDetails, ResponseCache, ResponseName};
use crate::ruleset::FieldEdit;
use model::cache_settings::{BrowserTtl, BrowserTtlMode};

/// The field that says where an answer comes from.
const CACHE_STATUS: &str = "svc-cache-status";
/// Fields besides the target by which origins choose an answer and that many do not name in `Vary`, under any spelling.
const KEYED_FIELDS: &[&str] = &[
    "forwarded",
    "origin",
    "x-forwarded-path",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-host",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-host",
    "x-original-url",
    "x-rewrite-url",
];
/// Those that are the edge's own, unless a trusted proxy sends them.
const KEYED_OF_PROXIES: &[&str] = &["x-forwarded-host", "x-forwarded-proto"];
/// Fields of a request for a part of a response, or for one only if it has changed.
const PARTIAL: &[HeaderName] = &[
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::RANGE,
];
/// A request for this many parts of a kept response, or more, gets the whole response.
const MAX_RANGES: usize = 8;
const NOT_A_WHOLE_ONE: NoCacheReason = NoCacheReason::Custom("a part of it was asked for");

/// The step that looks for kept responses, and keeps new ones.
pub(super) struct Caching {
    pub(super) store: &'static ResponseCache,
    pub(super) events: Events,
    pub(super) clock: Clock,
}

/// Where an answer comes from, in words of [`CACHE_STATUS`] and of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheStatus {
    Hit,
    Miss,
    Expired,
    Revalidated,
    Stale,
    /// The old one, while another request has the origin asked whether it holds.
    Updating,
    /// Its request is none that kept responses are looked for.
    Bypass,
    /// Its origin or its zone says that it is not kept.
    Dynamic,
}

impl CacheStatus {
    fn of(phase: CachePhase) -> Self {
        match phase {
            CachePhase::Hit => Self::Hit,
            CachePhase::Miss => Self::Miss,
            CachePhase::Expired => Self::Expired,
            CachePhase::Revalidated | CachePhase::RevalidatedNoCache(_) => Self::Revalidated,
            CachePhase::Stale => Self::Stale,
            CachePhase::StaleUpdating => Self::Updating,
            CachePhase::Disabled(NoCacheReason::CacheLockTimeout) => Self::Miss,
            CachePhase::Disabled(NoCacheReason::NeverEnabled) => Self::Bypass,
            CachePhase::Disabled(reason) if reason == NOT_A_WHOLE_ONE => Self::Bypass,
            CachePhase::Disabled(_) | CachePhase::Uninit | CachePhase::Bypass | CachePhase::CacheKey => {
                Self::Dynamic
            }
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Hit => "HIT",
            Self::Miss => "MISS",
            Self::Expired => "EXPIRED",
            Self::Revalidated => "REVALIDATED",
            Self::Stale => "STALE",
            Self::Updating => "UPDATING",
            Self::Bypass => "BYPASS",
            Self::Dynamic => "DYNAMIC",
        }
    }
}

/// Adds what rules changed of the fields that an origin chooses its answer by.
fn add_edits(parts: &mut KeyParts, edits: &[FieldEdit]) {
    for FieldEdit { name, keeps, value } in edits {
        parts.add(b"edit");
        parts.add(name.as_str().as_bytes());
        parts.add(&[u8::from(*keeps), u8::from(value.is_some())]);
        parts.add(value.as_ref().map_or(b"", HeaderValue::as_bytes));
    }
}

/// Whether only what a URL says that it is may be kept.
fn has_armor(ctx: &Context) -> bool {
    ctx.decisions.cache.cache_key.as_ref().and_then(|key| key.cache_deception_armor) == Some(true)
}

impl Caching {
    /// Has the framework look for a kept response, if the request is one for which there may be any.
    pub(super) fn begin(&self, session: &mut Session, ctx: &Context) {
        if !may_be_kept(session, ctx) {
            return;
        }
        let patience = ctx.snapshot.limits.cache_lock_timeout;
        // Requests for a part keep nothing, so nobody is to wait for them.
        let lock = (!patience.is_zero() && is_for_whole(session.req_header())).then(|| self.store.lock());
        let mut options = CacheOptionOverrides::default();
        options.wait_timeout = Some(patience);
        session.cache.enable(self.store, None, None, lock, Some(options));
    }

    /// What a request is asked under.
    pub(super) fn key(&self, session: &Session, ctx: &Context) -> CacheKey {
        let Route::Zone(zone) = &ctx.route else { return CacheKey::new(Vec::new(), "") };
        let request = session.req_header();
        let mut parts = KeyParts::default();
        parts.add(zone.id.to_string().as_bytes());
        parts.add(if ctx.tls { b"https" } else { b"http" });
        // With its port: over HTTP/2 it is the authority.
        let authority = request.uri.authority().map_or("", http::uri::Authority::as_str).as_bytes();
        parts.add(request.headers.get(header::HOST).map_or(authority, HeaderValue::as_bytes));
        parts.add(ctx.host.as_bytes());
        let parameters = ctx.decisions.cache.cache_key.as_ref();
        let counted = |target| {
            let target = headers::origin_target(target);
            match parameters {
                Some(parameters) => key::target(target, parameters),
                None => target,
            }
        };
        parts.add(&counted(request.raw_path()));
        // As it is dropped by.
        let target = counted(ctx.sent_target.as_deref().unwrap_or_else(|| request.raw_path()));
        parts.add(&target);
        let origin = &ctx.decisions.origin;
        parts.add(origin.host_header.as_deref().unwrap_or("").as_bytes());
        parts.add(origin.server_name.as_deref().unwrap_or("").as_bytes());
        // What may be absent begins with a word, so that nothing stands for anything else.
        if let Some(origin) = &origin.origin {
            parts.add(b"origin");
            parts.add(origin.host.as_deref().unwrap_or("").as_bytes());
            parts.add(&origin.port.unwrap_or(0).to_be_bytes());
        }
        if ctx.setting(|settings| settings.ip_geolocation) == Some(true) {
            parts.add(b"country");
            parts.add(ctx.snapshot.geo.find(ctx.client).country.unwrap_or_default().as_bytes());
        }
        add_edits(&mut parts, &ctx.field_edits);
        for (name, value) in &request.headers {
            let plain = hyphenated(name.as_str());
            let is_left_out = plain == "origin" && key::leaves_out_origin(parameters);
            let is_keyed = KEYED_FIELDS.contains(&&*plain) && !is_left_out
                || ctx.peer_is_trusted() && KEYED_OF_PROXIES.contains(&&*plain);
            if is_keyed {
                parts.add(b"field");
                parts.add(name.as_str().as_bytes());
                parts.add(value.as_bytes());
            }
        }
        if has_armor(ctx) {
            // What was kept without it may be what it keeps out.
            parts.add(b"armor");
        }
        if device::is_keyed(parameters) {
            parts.add(b"device");
            DeviceType::all(&request.headers).for_each(|device| parts.add(device.word().as_bytes()));
        }
        if let Some(custom) = parameters.and_then(|parameters| parameters.custom_key.as_ref()) {
            let country = || ctx.snapshot.geo.find(ctx.client).country.unwrap_or_default();
            key::add_custom(&mut parts, custom, &request.headers, country);
        }
        let mut key = CacheKey::new(parts.0, "");
        let limits = &ctx.snapshot.limits;
        key.extensions.insert(KeyDetails {
            name: Arc::new(ResponseName {
                zone_id: zone.id.to_string(),
                is_https: ctx.tls,
                host: ctx.host.clone(),
                target: target.into_owned(),
            }),
            limits: CacheLimits {
                response_bytes: limits.cached_response.0,
                all_bytes: limits.cached_responses.0,
            },
            purges: self.store.purges(),
        });
        key
    }

    /// How an origin's response is kept, if it is.
    pub(super) fn keep(&self, session: &Session, response: &ResponseHeader, ctx: &Context) -> RespCacheable {
        if has_armor(ctx) {
            let request = session.req_header();
            let sent = ctx.sent_target.as_deref().unwrap_or_else(|| request.raw_path());
            if ![sent, request.raw_path()].iter().all(|path| armor::is_sound(path, &response.headers)) {
                return RespCacheable::Uncacheable(NoCacheReason::Custom("deception"));
            }
        }
        let mut response = response.clone();
        let is_chunked = response.headers.contains_key(header::TRANSFER_ENCODING);
        headers::strip_response_connection(&mut response);
        let told_fields: Vec<HeaderName> = ctx.field_edits.iter().map(|edit| edit.name.clone()).collect();
        let asked = Asked {
            edge_ttl: ctx.decisions.cache.edge_ttl.as_ref(),
            has_cookies: session.req_header().headers.contains_key(header::COOKIE),
            told_fields: &told_fields,
            is_chunked,
            now: self.clock.now(),
        };
        match policy::keep(&response, &asked) {
            Ok(meta) => RespCacheable::Cacheable(meta),
            Err(reason) => RespCacheable::Uncacheable(reason),
        }
    }

    /// Adds the field that says where an answer comes from, and notes it for metrics and the log.
    pub(super) fn tell(
        &self,
        session: &Session,
        response: &mut ResponseHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        // What an origin says is of its own cache.
        if ctx.decisions.cache.cache != Some(true) {
            return Ok(());
        }
        let status = CacheStatus::of(session.cache.phase());
        ctx.cache_status = Some(status);
        // An origin may say with a 304 that what was kept is not to be kept any more.
        let is_kept =
            session.cache.enabled() && !matches!(session.cache.phase(), CachePhase::RevalidatedNoCache(_));
        if let Some(browser) = ctx.decisions.cache.browser_ttl.filter(|_| is_kept) {
            tell_browsers(response, browser)?;
        }
        response.insert_header(CACHE_STATUS, status.word())
    }

    /// Counts where the answer to a request came from.
    pub(super) fn record(&self, ctx: &Context) {
        if let Some(status) = ctx.cache_status {
            let labels = [ctx.zone_label().name, status.word()];
            self.events.metrics().cache_lookups.with_label_values(&labels).inc();
        }
    }
}

/// Says how long browsers may use a response that is kept here, in the place of its origin.
fn tell_browsers(response: &mut ResponseHeader, browser: BrowserTtl) -> Result<()> {
    let says_something = [header::CACHE_CONTROL, header::EXPIRES, header::PRAGMA]
        .into_iter()
        .any(|name| response.headers.contains_key(name));
    let told = match browser.mode {
        BrowserTtlMode::OverrideOrigin => format!("max-age={}", browser.default.unwrap_or_default()),
        BrowserTtlMode::Bypass => "no-store".to_owned(),
        BrowserTtlMode::BypassByDefault if !says_something => "no-store".to_owned(),
        BrowserTtlMode::RespectOrigin | BrowserTtlMode::BypassByDefault => return Ok(()),
    };
    response.remove_header(&header::EXPIRES);
    response.remove_header(&header::PRAGMA);
    response.insert_header(header::CACHE_CONTROL, told)
}

/// Whether there may be kept responses for a request: one without a body that says who it is from in no way that an
/// origin would answer by.
fn may_be_kept(session: &mut Session, ctx: &Context) -> bool {
    if ctx.decisions.cache.cache != Some(true) {
        return false;
    }
    let has_body = !session.as_downstream_mut().is_body_empty();
    let request = session.req_header();
    matches!(ctx.route, Route::Zone(_))
        && ctx.snapshot.limits.cached_responses.0 > 0
        && matches!(request.method, Method::GET | Method::HEAD)
        && !has_body
        && !ctx.is_web_socket
        && !request.headers.contains_key(header::AUTHORIZATION)
        && ctx.authenticated_user.is_none()
        && !ctx.is_vouched_for
        && ctx.client_certificates.is_none()
}

/// What to do for a request whose response is not kept: only one for the whole of it fills the cache, because others
/// would have the origin send more than their client asks for.
pub(super) fn miss(session: &mut Session) {
    if is_for_whole(session.req_header()) {
        session.cache.cache_miss();
    } else {
        session.cache.disable(NOT_A_WHOLE_ONE);
    }
}

/// Whether a request is for the whole of a response.
fn is_for_whole(request: &RequestHeader) -> bool {
    request.method == Method::GET && !PARTIAL.iter().any(|name| request.headers.contains_key(name))
}

/// Which of several kept responses a request is for.
pub(super) fn variance(meta: &CacheMeta, request: &RequestHeader) -> Option<HashBinary> {
    let names: Vec<String> = policy::varying_fields(meta.headers()).collect();
    let mut variance = VarianceBuilder::new();
    for name in &names {
        let value = match name.as_str() {
            "accept-encoding" => codings(&request.headers).into_bytes(),
            name => {
                let values = request.headers.get_all(name).iter();
                let mut parts = KeyParts::default();
                values.for_each(|value| parts.add(value.as_bytes()));
                parts.0
            }
        };
        variance.add_owned_value(name, value);
    }
    variance.finalize()
}

/// The content codings that a client takes, in one spelling for all that take the same.
fn codings(headers: &HeaderMap) -> String {
    let takes = |coding: ContentEncoding| {
        let fields = headers.get_all(header::ACCEPT_ENCODING).iter().map(HeaderValue::as_bytes);
        ContentEncoding::accepted(&[coding], fields).is_some()
    };
    let taken: Vec<&str> =
        ContentEncoding::ALL.into_iter().filter(|c| takes(*c)).map(ContentEncoding::word).collect();
    taken.join(", ")
}

/// Asks an origin for a response that may be kept: with the codings of the client in the one spelling by which it is kept.
pub(super) fn tell_codings(session: &Session, request: &mut RequestHeader) -> Result<()> {
    if !session.cache.enabled() {
        return Ok(());
    }
    let codings = codings(&request.headers);
    if codings.is_empty() {
        request.remove_header(&header::ACCEPT_ENCODING);
        return Ok(());
    }
    request.insert_header(header::ACCEPT_ENCODING, codings)
}

/// Which parts of a kept response are given. With rules over responses none are: these judge a body as a whole, and who gets
/// it piece by piece would get past them.
pub(super) fn ranges(session: &Session, response: &mut ResponseHeader, ctx: &Context) -> RangeType {
    match &ctx.route {
        Route::Zone(zone) if zone.response_rules => RangeType::None,
        _ => range_header_filter(session.req_header(), response, Some(MAX_RANGES)),
    }
}

/// Whether the response is one that was kept, and no origin's.
pub(super) fn is_kept(session: &Session) -> bool {
    matches!(session.cache.phase(), CachePhase::Hit | CachePhase::Stale | CachePhase::StaleUpdating)
}

/// Whether a response that is too old may be served, if its origin has said so: because of this error, since its answer of
/// before is better than none, or while another request has the origin asked.
pub(super) fn may_be_stale(error: Option<&Error>, session: &Session, ctx: &Context) -> bool {
    let is_of_origin = |error: &Error| {
        *error.esource() == ErrorSource::Upstream
            || matches!(
                ctx.refusal,
                Some(Refusal::NoOrigin | Refusal::OriginUnreachable | Refusal::OriginNameUnresolved)
            )
    };
    match error {
        Some(error) => is_of_origin(error),
        // The request that asks the origin waits. Else the framework sends one of its own, which rules and logs take for a client's.
        None => !session.cache.is_cache_lock_writer(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_take_the_same_codings_are_asked_for_in_one_way() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
            codings(&headers)
        };
        assert_eq!(of("gzip, deflate, br, zstd"), of("ZSTD;q=0.9,br, gzip;q=0.1"));
        assert_eq!(of("gzip"), of("x-gzip, br;q=0"));
        assert_ne!(of("gzip"), of("br"));
        assert_eq!((of("identity"), of("")), (String::new(), String::new()));
    }
}
