//! The rule engine over whole requests, with the rules in the binary.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use portcullis::waf::matcher::BodyLimits;
use portcullis::waf::{Phase, Plan, PlanSettings, RequestHead, Transaction, optimize};

struct Case {
    name: &'static str,
    method: &'static [u8],
    target: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: String,
}

fn cases() -> Vec<Case> {
    const FORM: &[(&str, &str)] = &[
        ("host", "shop.example"),
        ("user-agent", "Mozilla/5.0"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    const PLAIN: &[(&str, &str)] =
        &[("host", "shop.example"), ("user-agent", "Mozilla/5.0"), ("accept", "*/*")];
    const JSON: &[(&str, &str)] =
        &[("host", "shop.example"), ("user-agent", "Mozilla/5.0"), ("content-type", "application/json")];
    vec![
        Case { name: "simple_get", method: b"GET", target: "/some_path/with?parameters=and&other=Stuff", headers: PLAIN, body: String::new() },
        Case { name: "static_asset", method: b"GET", target: "/assets/app.4f2a9c.js", headers: PLAIN, body: String::new() },
        Case {
            name: "form_8_fields",
            method: b"POST",
            target: "/signup",
            headers: FORM,
            body: "first=Ann&last=O%27Brien&mail=ann%40shop.example&street=12+Main+Street&city=Springfield&zip=12345&country=US&note=Please+ring+twice".to_owned(),
        },
        Case {
            name: "json_post",
            method: b"POST",
            target: "/api/orders",
            headers: JSON,
            body: r#"{"id":17,"items":[{"sku":"A-1","count":2}],"note":"leave at the door"}"#.to_owned(),
        },
        Case { name: "form_10kb", method: b"POST", target: "/post", headers: FORM, body: format!("text={}", "a".repeat(10_000)) },
        Case { name: "sqli_get", method: b"GET", target: "/?id=1'%20UNION%20SELECT%20a%20FROM%20b", headers: PLAIN, body: String::new() },
    ]
}

fn requests(c: &mut Criterion) {
    let (rules, _) = portcullis::rules::load(None, None).expect("the rules in the binary compile");
    for (level, disabled) in
        [("pl1", vec!["paranoia-level-2", "paranoia-level-3", "paranoia-level-4"]), ("pl4", Vec::new())]
    {
        let disabled = rules
            .program
            .roots()
            .iter()
            .filter(|root| root.meta.tags.iter().any(|tag| disabled.contains(&tag.as_str())))
            .map(|root| root.id)
            .collect();
        let plan = Arc::new(Plan::new(
            Arc::clone(&rules.program),
            &PlanSettings { disabled, ..PlanSettings::default() },
        ));
        for case in cases() {
            let headers: Vec<(&[u8], &[u8])> =
                case.headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
            let head = RequestHead {
                method: case.method,
                target: case.target.as_bytes(),
                protocol: "HTTP/1.1",
                headers: &headers,
                client: IpAddr::V4(Ipv4Addr::LOCALHOST),
                request_id: "0123456789abcdef-1",
                received: std::time::Duration::ZERO,
            };
            let body = Bytes::from(case.body.clone());
            c.bench_function(&format!("waf_match/{level}/{}", case.name), |b| {
                b.iter(|| {
                    let mut transaction = Transaction::new(Arc::clone(&plan), BodyLimits::default());
                    transaction.request_head(&head);
                    let early = transaction.run(Phase::RequestHeaders);
                    transaction.request_body(body.clone(), false);
                    early.or_else(|| transaction.run(Phase::RequestBody))
                });
            });
        }
    }
    c.bench_function("waf_compile/built_in", |b| b.iter(|| optimize::optimize(&rules.ir)));
}

criterion_group!(benches, requests);
criterion_main!(benches);
