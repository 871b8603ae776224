//! A thousand rules of three terms each, and a request that they are asked of.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use body::head::RequestHead;
use expression::{Expression, Facts};
use model::{Phase, RulesetKind};
use portcullis::ruleset::{CompiledAction, CompiledRule, EntryPoint, RuleList};

pub const TEN_TERMS: &str = "http.host eq \"shop.example\" \
    and starts_with(http.request.uri.path, \"/p\") and not http.request.uri.path contains \"..\" \
    and http.request.method in {\"GET\" \"HEAD\"} and ip.src in {192.0.2.0/24 198.51.100.0/24} \
    and not ssl and any(http.request.headers[\"accept\"][*] contains \"html\") \
    and len(http.request.uri.query) lt 100 and lower(http.user_agent) contains \"firefox\" \
    and http.request.cookies[\"theme\"][0] eq \"dark\"";

/// Rules that each name a different path.
pub fn distinct(nth: usize) -> String {
    format!(
        "http.host eq \"shop.example\" and starts_with(http.request.uri.path, \"/p{nth}/\") and not ip.src in {{10.{}.0.0/16}}",
        nth % 256
    )
}

/// Rules that have nothing of their own that could be looked for.
pub fn alike(nth: usize) -> String {
    format!(
        "http.host eq \"shop.example\" and http.request.uri.path ne \"/p{nth}\" and len(http.request.uri.query) eq {}",
        nth + 1
    )
}

/// A thousand rules that tell what they match.
pub fn entry_point(text: fn(usize) -> String) -> EntryPoint {
    let rules = (0..1000).map(|nth| CompiledRule {
        source: Arc::default(),
        expression: Expression::parse(&text(nth), Phase::HttpRequestFirewallCustom).expect("an expression"),
        action: CompiledAction::Log,
        rate: None,
    });
    let mut entry_point = EntryPoint::default();
    entry_point.push(RulesetKind::Zone, Arc::new(RuleList::new(rules.collect())));
    entry_point
}

/// Asks something of a browser's request.
pub fn with_request<T>(target: &str, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
    let headers: [(&[u8], &[u8]); 6] = [
        (b"Host", b"shop.example"),
        (b"User-Agent", b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
        (b"Accept", b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
        (b"Accept-Language", b"en-GB,en;q=0.5"),
        (b"Accept-Encoding", b"gzip, deflate, br, zstd"),
        (b"Cookie", b"session=abcdef0123456789; theme=dark"),
    ];
    let head = RequestHead {
        method: b"GET",
        target: target.as_bytes(),
        protocol: "HTTP/1.1",
        headers: &headers,
        client: Ipv4Addr::new(192, 0, 2, 33).into(),
        server: None,
        request_id: "0",
        received: Duration::ZERO,
    };
    ask(&Facts::of_request(&head))
}
