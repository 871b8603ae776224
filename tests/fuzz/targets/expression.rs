#![no_main]
//! Any text is parsed as a filter; what is one is asked of any target.

use std::net::{IpAddr, Ipv4Addr};

use libfuzzer_sys::fuzz_target;
use model::Phase;
use expression::{Expression, Facts};
use body::head::{RequestHead, ResponseHead};

fuzz_target!(|input: (&str, &[u8])| {
    let (text, target) = input;
    let Ok(expression) = Expression::parse(text, Phase::HttpResponseFirewallManaged) else { return };
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
    let mut facts = Facts::new(&request, "a");
    facts.response = Some(&response);
    let once = expression.matches(&facts);
    assert_eq!(once, expression.matches(&facts));
});
