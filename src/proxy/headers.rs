//! Header fields that we read, set or take away.

use std::borrow::Cow;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::{ErrorType, OrErr};

use super::loops::LoopName;

/// Fields of ours that only gateways read; none reaches a provider.
const GATEWAY_PREFIX: &str = "svc-aig-";
/// The WebSocket subprotocol that carries a token if headers cannot be set.
const GATEWAY_SUBPROTOCOL: &str = "svc-aig-authorization.";

/// Who the request is from: the peer, or what a trusted proxy says of the client behind it.
pub(super) fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    if !is_trusted(&peer) {
        return peer;
    }
    let mut listed: Vec<&str> = Vec::new();
    for value in headers.get_all("x-forwarded-for") {
        listed.extend(value.to_str().unwrap_or("").split(','));
    }
    // From the right: the first that no trusted proxy of ours is.
    let mut client = peer;
    for text in listed.iter().rev() {
        let Ok(address) = text.trim().parse::<IpAddr>() else { break };
        client = address;
        if !is_trusted(&address) {
            break;
        }
    }
    client
}

/// Headers that tell origins about a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forwarded<'r> {
    pub(super) peer: IpAddr,
    pub(super) client: &'r HeaderValue,
    pub(super) peer_is_trusted: bool,
    pub(super) tls: bool,
    pub(super) host: &'r str,
    pub(super) ray: &'r str,
    pub(super) loop_name: &'r LoopName,
}

/// Names under which proxies tell origins of a client. From a peer that is not trusted they say nothing.
const TOLD_BY_PROXIES: &[&str] = &[
    "client-ip",
    "forwarded",
    "true-client-ip",
    "via-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-forwarded",
    "x-forwarded-client-cert",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-url",
    "x-originating-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-rewrite-url",
];

/// A field name as servers know it that read `_` as `-`.
pub(super) fn hyphenated(name: &str) -> Cow<'_, str> {
    if name.contains('_') { Cow::Owned(name.replace('_', "-")) } else { Cow::Borrowed(name) }
}

/// The words of a field whose values are lists with commas (RFC 9110 section 5.6.1), without the space around.
pub(super) fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &[u8]> {
    let values = headers.get_all(name).into_iter();
    values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

/// Takes away what would be taken for ours, or for a trusted proxy's. Many servers read `_` in a name as `-`, and
/// some make a variable of `Proxy` that libraries obey.
fn strip_spoofed(request: &mut RequestHeader, peer_is_trusted: bool) {
    let is_spoofed = |name: &&HeaderName| {
        let plain = hyphenated(name.as_str());
        let is_ours = plain == "svc-connecting-ip" || plain == "svc-ray" || plain == "proxy";
        let is_twin = plain != name.as_str();
        is_ours || TOLD_BY_PROXIES.contains(&&*plain) && (is_twin || !peer_is_trusted)
    };
    let spoofed: Vec<HeaderName> = request.headers.keys().filter(is_spoofed).cloned().collect();
    for name in &spoofed {
        request.remove_header(name);
    }
}

/// Makes a target in absolute form one in origin form: it names no server but the one that is asked (RFC 9112
/// section 3.2.1).
pub(super) fn origin_form(request: &mut RequestHeader) -> pingora::Result<()> {
    let Cow::Owned(target) = origin_target(request.raw_path()) else { return Ok(()) };
    request.set_raw_path(&target)
}

/// The values of the cookies of a name in one field.
pub(super) fn cookies<'c>(field: &'c [u8], name: &'c [u8]) -> impl Iterator<Item = &'c [u8]> {
    let pairs = field.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    pairs.filter_map(move |pair| pair.strip_prefix(name)?.strip_prefix(b"="))
}

/// Path and query of a target.
pub(super) fn origin_target(target: &[u8]) -> Cow<'_, [u8]> {
    let Some(scheme) = memchr::memmem::find(target, b"://").filter(|_| target.first() != Some(&b'/')) else {
        return Cow::Borrowed(target);
    };
    let rest = target.get(scheme + 3..).unwrap_or(&[]);
    let path = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).and_then(|at| rest.get(at..));
    Cow::Owned(match path {
        None => b"/".to_vec(),
        Some(query @ [b'?', ..]) => [b"/", query].concat(),
        Some(path) => path.to_vec(),
    })
}

/// Tells the origin another host, in a field and where HTTP/2 does.
pub(super) fn tell_host(request: &mut RequestHeader, host: &str) -> pingora::Result<()> {
    let target = request.raw_path().to_vec();
    // A target that is set anew has no authority.
    request.set_raw_path(&target)?;
    request.insert_header(http::header::HOST, host)
}

/// Names the host in a field, as well as where HTTP/2 does: a target that is replaced takes its authority with it.
pub(super) fn name_host(request: &mut RequestHeader) -> pingora::Result<()> {
    let authority = request.uri.authority().map(|authority| authority.as_str().to_owned());
    match authority.filter(|_| !request.headers.contains_key(http::header::HOST)) {
        Some(authority) => request.insert_header(http::header::HOST, authority),
        None => Ok(()),
    }
}

/// Joins the cookies that a client of HTTP/2 sent one by one (RFC 9113 section 8.2.3).
pub(super) fn join_cookies(request: &mut RequestHeader) {
    let mut cookies = request.headers.get_all(http::header::COOKIE).iter();
    if cookies.next().is_none() || cookies.next().is_none() {
        return;
    }
    let all: Vec<&[u8]> =
        request.headers.get_all(http::header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(joined) = HeaderValue::from_bytes(&all.join(&b"; "[..])) {
        // INVARIANT: the name is valid.
        let _ = request.insert_header(http::header::COOKIE, joined);
    }
}

/// Fields of one connection alone (RFC 9110 section 7.6.1).
pub(super) const HOP_BY_HOP: &[&str] =
    &["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/// Takes the fields of the client's connection out of a request, those that its `Connection` names among them.
pub(super) fn strip_connection(request: &mut RequestHeader) {
    for name in of_connection(&request.headers) {
        request.remove_header(&name);
    }
}

/// Removes what is said of the connection with an origin.
pub(super) fn strip_response_connection(response: &mut ResponseHeader) {
    for name in of_connection(&response.headers) {
        response.remove_header(&name);
    }
}

/// The fields that are about one connection, those that `Connection` names among them.
fn of_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let named = words(headers, http::header::CONNECTION);
    let named = named.filter_map(|word| HeaderName::from_bytes(word).ok());
    named.chain(HOP_BY_HOP.iter().copied().map(HeaderName::from_static)).collect()
}

/// Sets the fields of DESIGN.md section 8 towards an origin. What the client sent under these
/// names is replaced, unless its peer is a trusted proxy.
pub(super) fn forward(request: &mut RequestHeader, forwarded: Forwarded<'_>) -> pingora::Result<()> {
    strip_spoofed(request, forwarded.peer_is_trusted);
    let told = request.headers.get_all("x-forwarded-for").iter().filter(|_| forwarded.peer_is_trusted);
    let mut chain: Vec<&str> = told.filter_map(|value| value.to_str().ok()).collect();
    let chain = if chain.is_empty() {
        forwarded.client.clone()
    } else {
        let peer = forwarded.peer.to_string();
        chain.push(&peer);
        HeaderValue::try_from(chain.join(", ")).or_err(ErrorType::InvalidHTTPHeader, "x-forwarded-for")?
    };
    request.insert_header("x-forwarded-for", chain)?;
    let keep =
        |request: &RequestHeader, name: &str| forwarded.peer_is_trusted && request.headers.contains_key(name);
    if !keep(request, "x-forwarded-proto") {
        let scheme = if forwarded.tls { "https" } else { "http" };
        request.insert_header("x-forwarded-proto", HeaderValue::from_static(scheme))?;
    }
    if !keep(request, "x-forwarded-host") {
        request.insert_header("x-forwarded-host", forwarded.host)?;
    }
    request.insert_header("svc-connecting-ip", forwarded.client.clone())?;
    request.insert_header("svc-ray", forwarded.ray)?;
    forwarded.loop_name.add_to(request)
}

/// The gateway token a request presents, in any of the accepted forms.
pub(super) fn gateway_token<'h>(headers: &'h HeaderMap, names: &[HeaderName]) -> Option<&'h [u8]> {
    let by_header = names
        .iter()
        .find_map(|name| headers.get(name))
        .map(|value| gateway::token::of_header(value.as_bytes()));
    by_header.or_else(|| {
        words(headers, http::header::SEC_WEBSOCKET_PROTOCOL)
            .find_map(|protocol| protocol.strip_prefix(GATEWAY_SUBPROTOCOL.as_bytes()))
    })
}

/// The gateway token that a client of the compatible endpoint sends as its provider key: clients made for one
/// provider have no other field. Only what is made as a gateway token is taken for one.
pub(super) fn gateway_token_in_authorization(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(http::header::AUTHORIZATION)?;
    let token = gateway::token::of_header(value.as_bytes());
    token.starts_with(gateway::token::PREFIX.as_bytes()).then_some(token)
}

/// Whether a field is for the gateway alone.
pub(super) fn is_gateways(name: &HeaderName, token_headers: &[HeaderName]) -> bool {
    let plain = hyphenated(name.as_str());
    plain.starts_with(GATEWAY_PREFIX) || token_headers.iter().any(|token| *token == *plain)
}

/// The subprotocol to agree on: the first that is offered and carries no token, else the one that does, for
/// browsers want one of those they offered.
pub(super) fn subprotocol(headers: &HeaderMap) -> Option<&str> {
    let offered = headers.get(http::header::SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    let mut names = offered.split(',').map(str::trim);
    names.clone().find(|name| !name.starts_with(GATEWAY_SUBPROTOCOL)).or_else(|| names.next())
}

/// Takes everything that is for the gateway alone out of a request to a provider.
pub(super) fn strip_gateway(request: &mut RequestHeader, names: &[HeaderName]) -> pingora::Result<()> {
    let ours = |name: &&HeaderName| is_gateways(name, names);
    let found: Vec<HeaderName> = request.headers.keys().filter(ours).cloned().collect();
    for name in &found {
        request.remove_header(name.as_str());
    }
    let Some(protocols) =
        request.headers.get(http::header::SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok())
    else {
        return Ok(());
    };
    let kept: Vec<&str> =
        protocols.split(',').map(str::trim).filter(|p| !p.starts_with(GATEWAY_SUBPROTOCOL)).collect();
    if kept.len() < protocols.split(',').count() {
        let kept = kept.join(", ");
        if kept.is_empty() {
            request.remove_header("sec-websocket-protocol");
        } else {
            request.insert_header("sec-websocket-protocol", kept)?;
        }
    }
    Ok(())
}

/// Names and values of a request as rules see them: names as they were sent, if that is known.
pub(super) fn fields<'r>(request: &'r RequestHeader, host: &'r str) -> Vec<(&'r [u8], &'r [u8])> {
    let mut fields: Vec<(&[u8], &[u8])> = Vec::with_capacity(request.headers.len() + 1);
    // HTTP/2 names the host in a pseudo-header; rules know it as a header.
    if !request.headers.contains_key(http::header::HOST) {
        fields.push((b"host", host.as_bytes()));
    }
    if request.has_case() {
        fields.extend(request.case_header_iter().map(|(name, value)| (name.as_slice(), value.as_bytes())));
    } else {
        fields
            .extend(request.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())));
    }
    fields
}

/// The header fields of an answer to a request past a rate: the limit, the remaining requests (0), and the seconds to wait.
pub(super) fn rate_fields(exceeded: counters::RateExceeded) -> [(&'static str, String); 4] {
    let seconds = exceeded.retry_after.as_millis().div_ceil(1000).to_string();
    [
        ("ratelimit-limit", exceeded.limit.to_string()),
        ("ratelimit-remaining", "0".to_owned()),
        ("ratelimit-reset", seconds.clone()),
        ("retry-after", seconds),
    ]
}

/// Names and values of a response.
pub(super) fn response_fields(response: &ResponseHeader) -> Vec<(&[u8], &[u8])> {
    response.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())).collect()
}

/// Whether a request asks for a WebSocket (RFC 6455 section 4.2.1). Nothing else is an upgrade: over any other
/// protocol a client could speak to an origin unseen.
pub(super) fn is_web_socket(request: &RequestHeader) -> bool {
    let has_word = |name: HeaderName, word: &[u8]| {
        words(&request.headers, name).any(|found| found.eq_ignore_ascii_case(word))
    };
    request.version == http::Version::HTTP_11
        && request.method == http::Method::GET
        && !request.headers.contains_key(http::header::TRANSFER_ENCODING)
        && content_length(&request.headers).is_none_or(|length| length == 0)
        && has_word(http::header::UPGRADE, b"websocket")
        && has_word(http::header::CONNECTION, b"upgrade")
}

/// Whether the client waits for `100 Continue` (RFC 9110 section 10.1.1). One of HTTP/1.0 never does.
pub(super) fn expects_continue(request: &RequestHeader) -> bool {
    let expects = request
        .headers
        .get(http::header::EXPECT)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    expects && request.version != http::Version::HTTP_10
}

/// The length a head announces for its body, in bytes.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A version as it stands in a request line.
pub(super) fn protocol(version: http::Version) -> &'static str {
    match version {
        http::Version::HTTP_10 => "HTTP/1.0",
        http::Version::HTTP_2 => "HTTP/2.0",
        http::Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/1.1",
    }
}

/// The bytes of a field, or nothing.
pub(super) fn bytes<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h [u8] {
    headers.get(name).map_or(&[], HeaderValue::as_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&str, &str)]) -> RequestHeader {
        let mut request = RequestHeader::build("GET", b"/", None).unwrap();
        for (name, value) in fields {
            request.append_header((*name).to_owned(), *value).unwrap();
        }
        request
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let trusted: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
        let request =
            headers(&[("x-forwarded-for", "203.0.113.9, 198.51.100.7"), ("x-forwarded-for", "10.0.0.2")]);
        let cases = [("192.0.2.1", "192.0.2.1"), ("10.0.0.1", "198.51.100.7")];
        for (peer, expected) in cases {
            assert_eq!(client(peer.parse().unwrap(), &request.headers, &trusted).to_string(), expected);
        }
        let broken = headers(&[("x-forwarded-for", "203.0.113.9, junk")]);
        assert_eq!(client("10.0.0.1".parse().unwrap(), &broken.headers, &trusted).to_string(), "10.0.0.1");
    }

    #[test]
    fn spoofed_fields_are_replaced() {
        let mut request = headers(&[
            ("X-Forwarded-For", "1.2.3.4"),
            ("svc-connecting-ip", "1.2.3.4"),
            ("x-forwarded-proto", "https"),
            ("X_Forwarded_For", "1.2.3.4"),
            ("svc_connecting_ip", "1.2.3.4"),
            ("X-Real-IP", "1.2.3.4"),
            ("Forwarded", "for=1.2.3.4"),
            ("True-Client-IP", "1.2.3.4"),
            ("Proxy", "http://1.2.3.4"),
        ]);
        let peer = "192.0.2.1".parse().unwrap();
        let client = HeaderValue::from_static("192.0.2.1");
        let forwarded = Forwarded {
            peer,
            client: &client,
            peer_is_trusted: false,
            tls: false,
            host: "a.example",
            ray: "r",
            loop_name: &LoopName::new(1),
        };
        forward(&mut request, forwarded).unwrap();
        let get = |name: &str| {
            request.headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect::<Vec<_>>().join("|")
        };
        assert_eq!(
            ["x-forwarded-for", "svc-connecting-ip", "x-forwarded-proto", "x-forwarded-host"].map(get),
            ["192.0.2.1", "192.0.2.1", "http", "a.example"]
        );
        assert!(request.headers.values().all(|value| !value.as_bytes().ends_with(b"1.2.3.4")), "{request:?}");
        // A trusted proxy is believed, but not under a name that is read as another.
        let mut request = headers(&[("X-Real-IP", "192.0.2.9"), ("X_Real_IP", "1.2.3.4")]);
        forward(&mut request, Forwarded { peer_is_trusted: true, ..forwarded }).unwrap();
        assert_eq!(request.headers.get("x-real-ip").unwrap(), "192.0.2.9");
        assert!(!request.headers.contains_key("x_real_ip"));
    }

    #[test]
    fn cookies_become_one_and_named_fields_go() {
        let mut request =
            headers(&[("cookie", "a=1"), ("cookie", "b=2"), ("connection", "x-hop, close"), ("x-hop", "1")]);
        join_cookies(&mut request);
        strip_connection(&mut request);
        let found: Vec<_> =
            request.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(found, [("cookie", &b"a=1; b=2"[..])]);
    }

    #[test]
    fn tokens_are_found_and_nothing_of_ours_remains() {
        let names =
            [HeaderName::from_static("svc-aig-authorization"), HeaderName::from_static("x-team-token")];
        for fields in [
            [("svc-aig-authorization", "Bearer abc")],
            [("X-Team-Token", "abc")],
            [("sec-websocket-protocol", "realtime, svc-aig-authorization.abc")],
        ] {
            let mut request = headers(&fields);
            assert_eq!(gateway_token(&request.headers, &names), Some(&b"abc"[..]), "{fields:?}");
            request.append_header("svc-aig-metadata", "{}").unwrap();
            request.append_header("authorization", "Bearer provider").unwrap();
            strip_gateway(&mut request, &names).unwrap();
            assert!(gateway_token(&request.headers, &names).is_none());
            assert!(
                !request.headers.contains_key("svc-aig-metadata")
                    && request.headers.contains_key("authorization")
            );
        }
        let mut request = headers(&[("sec-websocket-protocol", "svc-aig-authorization.abc, realtime")]);
        strip_gateway(&mut request, &names).unwrap();
        assert_eq!(request.headers.get("sec-websocket-protocol").unwrap(), "realtime");
    }
}
