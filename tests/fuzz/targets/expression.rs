#![no_main]
//! Any text is parsed as a filter; what is one is asked of any target and body, alone and through an index of many.

use std::net::{IpAddr, Ipv4Addr};

use body::head::{RequestHead, ResponseHead};
use expression::{AnomalyScore, Expression, ExpressionIndex, Facts, NamedSets, ReadBody, ValueExpression};
use libfuzzer_sys::fuzz_target;
use model::Phase;

fuzz_target!(|input: (&str, &[u8], &[u8])| {
    let (text, target, body) = input;
    let request = RequestHead {
        method: b"GET",
        target,
        protocol: "HTTP/1.1",
        headers: &[(b"Host", b"a"), (b"Cookie", target), (b"X-A", target)],
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        server: None,
        request_id: "f",
        received: std::time::Duration::ZERO,
    };
    let response = ResponseHead { status: 200, protocol: "HTTP/1.1", headers: &[(b"content-type", target)] };
    for phase in [Phase::HttpResponseFirewallManaged, Phase::HttpRequestLateTransform] {
        let body = ReadBody::new(body, false, target);
        let mut facts = Facts::new(&request, "a").with_body(Some(&body));
        (facts.response, facts.score) = (
            phase.is_of_response().then_some(&response),
            Some(AnomalyScore { all: 5, sqli: 3, xss: 2, rce: 0 }),
        );
        if let Ok(value) = ValueExpression::parse(text, phase, &NamedSets::open()) {
            let _ = value.give(&facts);
            value.add_to_key(&facts, &mut Vec::new());
        }
        let Ok(expression) = Expression::parse_with(text, phase, &NamedSets::open()) else { continue };
        let matches = expression.matches(&facts);
        assert_eq!(matches, expression.matches(&facts));
        assert!(expression.decided(&facts).is_none_or(|decided| decided == matches));
        if let Some(index) = ExpressionIndex::new(std::iter::repeat_n(Some(&expression), 70)) {
            let candidates = index.candidates(&facts);
            assert!(!matches || (0..70).all(|number| candidates.from(number) == Some(number)));
        }
    }
});
