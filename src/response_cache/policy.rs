//! Which responses may be kept, and how long they are served again (RFC 9111).

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use pingora::cache::cache_control::{CacheControl, InterpretCacheControl as _};
use pingora::cache::filters::{calculate_expires_header_time, calculate_serve_stale_durations};
use pingora::cache::{CacheMeta, CacheMetaDefaults, NoCacheReason};
use pingora::http::ResponseHeader;

use model::cache_settings::{EdgeTtl, EdgeTtlMode};

/// Most fields that a response may vary by.
const MAX_VARYING_FIELDS: usize = 8;
/// What caches between origin and client are told, instead of `Cache-Control` (RFC 9213).
const TARGETED: &str = "cdn-cache-control";
/// Statuses that are kept if their origin says how long.
const KEPT: &[u16] = &[200, 203, 204, 300, 301, 302, 307, 308, 404, 405, 410, 414, 501];
/// Those that are never kept: a part of a response, or that there is nothing new.
const PARTS: &[u16] = &[206, 304];
/// Those that are kept if it says nothing and the zone does.
const KEPT_UNSAID: &[u16] = &[200, 203, 301, 308];
/// Media types whose responses are the same for all clients, where the origin does not say so.
const SAME_FOR_ALL: &[&str] = &["image/", "font/", "audio/", "video/", "text/css", "text/javascript"];
const SAME_FOR_ALL_APPLICATIONS: &[&str] =
    &["application/javascript", "application/wasm", "application/font-woff", "application/vnd.ms-fontobject"];
/// Fields that the edge tells origins itself, or that name a person: what varies by them is not kept.
const NOT_VARIED_BY: &[&str] = &[
    "*",
    "authorization",
    "cookie",
    "forwarded",
    "svc-connecting-ip",
    "svc-device-type",
    "svc-ipcountry",
    "svc-ray",
    "traceparent",
    "true-client-ip",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

/// Why a response is not kept.
pub const HAS_COOKIES: NoCacheReason = NoCacheReason::Custom("it sets cookies");
const ZONE_SAYS_NO: NoCacheReason = NoCacheReason::Custom("its zone says that it is not kept");
const UNKNOWN_LENGTH: NoCacheReason = NoCacheReason::Custom("its end cannot be known");
const VARIES: NoCacheReason = NoCacheReason::Custom("it varies by what is not kept");
const OTHER_STATUS: NoCacheReason = NoCacheReason::Custom("its status");
const OF_ONE_CLIENT: NoCacheReason = NoCacheReason::Custom("it may be of one client");

/// What a response is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What the rules of its zone say.
    pub edge_ttl: Option<&'a EdgeTtl>,
    /// Whether the request has cookies.
    pub has_cookies: bool,
    /// Whether the origin sent it in chunks, so that its end is known.
    pub is_chunked: bool,
    /// Fields of the request that come from somebody else than its client.
    pub told_fields: &'a [HeaderName],
    pub now: SystemTime,
}

/// How a response is kept.
///
/// # Errors
/// Why it is not.
pub fn keep(response: &ResponseHeader, asked: &Asked<'_>) -> Result<CacheMeta, NoCacheReason> {
    let (head, status) = (&response.headers, response.status.as_u16());
    let of_status = asked.edge_ttl.and_then(|ttl| ttl.of_status(status));
    if of_status == Some(-1) {
        return Err(ZONE_SAYS_NO);
    }
    let is_kept = KEPT.contains(&status) || of_status.is_some() && !PARTS.contains(&status);
    if !is_kept || head.contains_key(header::CONTENT_RANGE) {
        return Err(OTHER_STATUS);
    }
    if head.contains_key(header::SET_COOKIE) {
        return Err(HAS_COOKIES);
    }
    // What ends with its connection may have been cut off.
    let is_framed = response.version == Version::HTTP_2
        || head.contains_key(header::CONTENT_LENGTH)
        || asked.is_chunked
        || response.status == StatusCode::NO_CONTENT;
    if !is_framed {
        return Err(UNKNOWN_LENGTH);
    }
    if !may_vary(head, asked.told_fields) {
        return Err(VARIES);
    }
    let control = CacheControl::from_resp_headers_named(TARGETED, response)
        .filter(says_something)
        .or_else(|| CacheControl::from_resp_headers(response));
    let fresh = fresh_for(response, control.as_ref(), asked)?;
    let age = age(head);
    let has_validator = head.contains_key(header::ETAG) || head.contains_key(header::LAST_MODIFIED);
    if fresh <= age && !has_validator {
        return Err(NoCacheReason::OriginNotCache);
    }
    let born = asked.now.checked_sub(age).unwrap_or(asked.now);
    // What is fresh until now is stale.
    let fresh_until = born.checked_add(fresh).unwrap_or(asked.now).max(SystemTime::UNIX_EPOCH);
    let (stale_while_revalidate, stale_if_error) =
        calculate_serve_stale_durations(control.as_ref(), &CacheMetaDefaults::new(|_| None, 0, 0));
    let mut kept = response.clone();
    if let Some(control) = &control {
        control.strip_private_headers(&mut kept);
    }
    kept.remove_header(&header::AGE);
    Ok(CacheMeta::new(fresh_until, born, stale_while_revalidate, stale_if_error, kept))
}

/// Whether a field that is for caches says what they may do; one that cannot be read leaves it to `Cache-Control`.
fn says_something(control: &CacheControl) -> bool {
    let says_how_long =
        [control.s_maxage(), control.max_age()].into_iter().any(|said| matches!(said, Ok(Some(_))));
    says_how_long || control.no_store() || control.private() || control.no_cache()
}

/// How long it is fresh from when it was made.
fn fresh_for(
    response: &ResponseHeader,
    control: Option<&CacheControl>,
    asked: &Asked<'_>,
) -> Result<Duration, NoCacheReason> {
    let age = age(&response.headers);
    // What a zone says counts from now on.
    let of_status = asked.edge_ttl.and_then(|ttl| ttl.of_status(response.status.as_u16()));
    if let Some(seconds) = of_status.and_then(|seconds| u64::try_from(seconds).ok()) {
        return Ok(Duration::from_secs(seconds) + age);
    }
    let usual = asked.edge_ttl.and_then(EdgeTtl::usual_seconds);
    let usual = usual.map(|seconds| Duration::from_secs(seconds.into()) + age);
    if let (Some(EdgeTtl { mode: EdgeTtlMode::OverrideOrigin, .. }), Some(ttl)) = (asked.edge_ttl, usual) {
        return Ok(ttl);
    }
    if control.is_some_and(|control| control.no_store() || control.private() && !names_fields(control)) {
        return Err(NoCacheReason::OriginNotCache);
    }
    if control.is_some_and(CacheControl::no_cache) {
        return Ok(Duration::ZERO);
    }
    if let Some(control) = control {
        // A lifetime that cannot be read is none (RFC 9111 section 4.2.1).
        for said in [control.s_maxage(), control.max_age()] {
            if let Some(seconds) = said.unwrap_or(Some(0)) {
                return Ok(Duration::from_secs(seconds.into()));
            }
        }
    }
    if response.headers.contains_key(header::EXPIRES) {
        // Several are as good as one in the past.
        let until = calculate_expires_header_time(response).unwrap_or(SystemTime::UNIX_EPOCH);
        return Ok(until.duration_since(asked.now).map_or(Duration::ZERO, |left| left + age));
    }
    let usual = usual.filter(|_| KEPT_UNSAID.contains(&response.status.as_u16()));
    let usual = usual.ok_or(NoCacheReason::OriginNotCache)?;
    if asked.has_cookies && !is_same_for_all(&response.headers) {
        return Err(OF_ONE_CLIENT);
    }
    Ok(usual)
}

/// Whether `private` is only said of some fields.
fn names_fields(control: &CacheControl) -> bool {
    control.private_field_names().is_some()
}

/// How old a response was when it came (RFC 9111 section 5.1).
fn age(head: &HeaderMap) -> Duration {
    let said = head.get(header::AGE).and_then(|age| age.to_str().ok());
    let seconds = said.and_then(|age| age.trim().parse::<u32>().ok());
    Duration::from_secs(seconds.unwrap_or(0).into())
}

fn is_same_for_all(head: &HeaderMap) -> bool {
    let of_type = head.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let media_type = body::media_type(of_type).to_ascii_lowercase();
    SAME_FOR_ALL.iter().any(|begin| media_type.starts_with(begin.as_bytes()))
        || SAME_FOR_ALL_APPLICATIONS.iter().any(|known| media_type == known.as_bytes())
}

/// The names of `Vary`, in lower case.
pub fn varying_fields(head: &HeaderMap) -> impl Iterator<Item = String> {
    let values = head.get_all(header::VARY).iter();
    values.flat_map(|value| {
        let names = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let names = names.filter(|name| !name.is_empty());
        names.map(|name| String::from_utf8_lossy(name).to_ascii_lowercase())
    })
}

fn may_vary(head: &HeaderMap, told_fields: &[HeaderName]) -> bool {
    let is_known = |name: &String| {
        !NOT_VARIED_BY.contains(&name.as_str()) && !told_fields.iter().any(|told| told.as_str() == name)
    };
    let mut names = varying_fields(head);
    names.by_ref().take(MAX_VARYING_FIELDS).all(|name| is_known(&name)) && names.next().is_none()
}

#[cfg(test)]
mod tests {
    use model::cache_settings::{StatusRange, StatusTtl};

    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn response(status: u16, fields: &str) -> ResponseHeader {
        let mut response = ResponseHeader::build(status, None).unwrap();
        for (name, value) in fields.lines().filter_map(|line| line.split_once(": ")) {
            response.append_header(name.to_owned(), value).unwrap();
        }
        response
    }

    fn seconds(status: u16, fields: &str, edge_ttl: Option<&EdgeTtl>, has_cookies: bool) -> Option<u64> {
        // Later than the epoch, so that ages fit before it.
        let now = NOW + Duration::from_secs(1_000_000);
        let told_fields = &[HeaderName::from_static("x-user")];
        let is_chunked = fields.contains("transfer-encoding");
        let asked = Asked { edge_ttl, has_cookies, is_chunked, told_fields, now };
        let length = if fields.contains("no-length") { "" } else { "content-length: 1\n" };
        let kept = keep(&response(status, &format!("{length}{fields}")), &asked).ok()?;
        assert!(!kept.headers().contains_key(header::AGE));
        Some(kept.fresh_until().duration_since(now).map_or(0, |fresh| fresh.as_secs()))
    }

    #[test]
    fn what_an_origin_says_is_kept_as_long_as_it_says() {
        for (status, fields, expected) in [
            (200, "cache-control: max-age=60", Some(60)),
            (200, "cache-control: max-age=60, s-maxage=5", Some(5)),
            (200, "cache-control: max-age=60\ncdn-cache-control: max-age=7", Some(7)),
            (200, "cache-control: max-age=60\ncdn-cache-control: no-store", None),
            (200, "cache-control: private\ncdn-cache-control: nonsense", None),
            (200, "cache-control: no-store\ncdn-cache-control: max-age=x", None),
            (200, "cache-control: max-age=60\ncdn-cache-control:", Some(60)),
            (200, "cache-control: max-age=60\nage: 20", Some(40)),
            (200, "cache-control: max-age=60\nage: 70", None),
            (200, "cache-control: max-age=60\nage: 70\netag: \"a\"", Some(0)),
            (200, "cache-control: no-cache", None),
            (200, "cache-control: no-cache\netag: \"a\"", Some(0)),
            (200, "cache-control: private, max-age=60", None),
            (200, "cache-control: max-age=60\ncache-control: no-store", None),
            (200, "cache-control: max-age=banana", None),
            (200, "cache-control: max-age=-1", None),
            (200, "expires: Thu, 01 Jan 1970 00:00:00 GMT", None),
            (200, "expires: Mon, 12 Jan 1970 13:46:50 GMT", Some(10)),
            (200, "expires: 0", None),
            (200, "expires: Mon, 12 Jan 1970 13:46:50 GMT\nexpires: 0", None),
            (200, "", None),
            (200, "cache-control: max-age=60\nset-cookie: a=b", None),
            (200, "cache-control: max-age=60\nx: no-length", None),
            (200, "transfer-encoding: chunked\ncache-control: max-age=60\nx: no-length", Some(60)),
            (206, "cache-control: max-age=60", None),
            (200, "content-range: bytes 0-0/1\ncache-control: max-age=60", None),
            (302, "cache-control: max-age=60", Some(60)),
            (404, "cache-control: max-age=60", Some(60)),
            (500, "cache-control: max-age=60", None),
            (200, "cache-control: max-age=60\nvary: *", None),
            (200, "cache-control: max-age=60\nvary: accept-encoding, Origin", Some(60)),
            (200, "cache-control: max-age=60\nvary: accept-encoding\nvary: COOKIE", None),
            (200, "cache-control: max-age=60\nvary: x-user", None),
            (200, "cache-control: max-age=60\nvary: a,b,c,d,e,f,g,h,i", None),
        ] {
            assert_eq!(seconds(status, fields, None, true), expected, "{status} {fields}");
        }
    }

    #[test]
    fn what_a_zone_says_holds_where_the_origin_says_nothing_or_always() {
        let ttl = |mode| Some(EdgeTtl { mode, default: Some(9), status_code_ttl: Vec::new() });
        let (usual, never) = (ttl(EdgeTtlMode::RespectOrigin), ttl(EdgeTtlMode::BypassByDefault));
        let always = ttl(EdgeTtlMode::OverrideOrigin);
        for (fields, edge_ttl, has_cookies, expected) in [
            ("", &usual, false, Some(9)),
            ("", &never, false, None),
            ("cache-control: max-age=60", &usual, false, Some(60)),
            ("cache-control: no-store", &usual, false, None),
            ("cache-control: private\ncdn-cache-control: ", &usual, false, None),
            ("cache-control: no-store", &always, false, Some(9)),
            ("cache-control: max-age=60", &always, false, Some(9)),
            ("set-cookie: a=b", &always, false, None),
            ("vary: cookie", &always, false, None),
            ("content-type: text/html", &usual, false, Some(9)),
            ("content-type: text/html", &usual, true, None),
            ("", &usual, true, None),
            ("content-type: text/CSS; charset=utf-8", &usual, true, Some(9)),
            ("content-type: image/png", &usual, true, Some(9)),
            ("content-type: application/javascript", &usual, true, Some(9)),
            ("content-type: application/json", &usual, true, None),
        ] {
            assert_eq!(
                seconds(200, fields, edge_ttl.as_ref(), has_cookies),
                expected,
                "{fields} {edge_ttl:?}"
            );
        }
        assert_eq!(seconds(404, "", usual.as_ref(), false), None);
        assert_eq!(seconds(404, "", always.as_ref(), false), Some(9));
    }

    #[test]
    fn what_a_zone_says_of_a_status_holds_before_all() {
        let of = |status_code: Option<u16>, from, to, value| {
            let range = (status_code.is_none()).then_some(StatusRange { from, to });
            StatusTtl { status_code, status_code_range: range, value }
        };
        let status_code_ttl = vec![
            of(Some(404), None, None, 30),
            of(Some(410), None, None, -1),
            of(Some(302), None, None, 0),
            of(None, Some(400), Some(451), 5),
            of(None, Some(500), None, 2),
            of(None, None, Some(299), 7),
        ];
        let ttl = Some(EdgeTtl { mode: EdgeTtlMode::RespectOrigin, default: Some(9), status_code_ttl });
        for (status, fields, expected) in [
            (404, "", Some(30)),
            (404, "cache-control: no-store", Some(30)),
            (404, "age: 20", Some(30)),
            (404, "set-cookie: a=b", None),
            (404, "vary: cookie", None),
            (404, "x: no-length", None),
            (410, "cache-control: max-age=60", None),
            (302, "cache-control: max-age=60", None),
            (302, "etag: \"a\"", Some(0)),
            (403, "", Some(5)),
            (452, "cache-control: max-age=60", None),
            (503, "", Some(2)),
            (200, "cache-control: max-age=60", Some(7)),
            (206, "", None),
            (304, "", None),
        ] {
            assert_eq!(seconds(status, fields, ttl.as_ref(), true), expected, "{status} {fields}");
        }
        assert_eq!(seconds(301, "", ttl.as_ref(), false), Some(9));
    }
}
