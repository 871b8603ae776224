//! The rule engine over whole requests, with the rules in the binary.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use portcullis::diagnostic::Diagnostics;
use portcullis::model::ruleset::{CategoryOverride, Overrides};
use portcullis::rules::Rules;
use portcullis::ruleset::{overrides, score};
use portcullis::waf::matcher::BodyLimits;
use portcullis::waf::{Phase, Plan, RequestHead, Transaction, optimize};

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

/// The rules as a zone of this level runs them.
fn plan(rules: &Rules, level: u8) -> Arc<Plan> {
    let above = (level + 1..=4).map(|level| CategoryOverride {
        category: format!("paranoia-level-{level}"),
        enabled: Some(false),
        action: None,
    });
    let settings = Overrides { categories: above.collect(), ..Overrides::default() };
    let effective = overrides::apply(&rules.owasp, &settings, &mut Diagnostics::default());
    Arc::new(Plan::new(Arc::clone(&rules.program), &score::plan_settings(&rules.owasp, &effective)))
}

fn requests(c: &mut Criterion) {
    let mut sets = vec![("own", None)];
    if let Ok(folder) = std::env::var("CRS_DIR") {
        sets.push(("crs", Some(vec![format!("{folder}/crs-setup.conf.example"), format!("{folder}/rules")])));
    }
    for (set, paths) in sets {
        let (rules, _) = portcullis::rules::load(paths.as_deref(), None).expect("the rules compile");
        for level in [1, 4] {
            let plan = plan(&rules, level);
            for case in cases() {
                case.bench(&format!("waf_match/{set}/pl{level}/{}", case.name), &plan, c);
            }
        }
        c.bench_function(&format!("waf_compile/{set}"), |b| b.iter(|| optimize::optimize(&rules.ir)));
    }
}

impl Case {
    fn bench(&self, name: &str, plan: &Arc<Plan>, c: &mut Criterion) {
        let headers: Vec<(&[u8], &[u8])> =
            self.headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
        let head = RequestHead {
            method: self.method,
            target: self.target.as_bytes(),
            protocol: "HTTP/1.1",
            headers: &headers,
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            request_id: "0123456789abcdef-1",
            received: std::time::Duration::ZERO,
        };
        let body = Bytes::from(self.body.clone());
        c.bench_function(name, |b| {
            b.iter(|| {
                let mut transaction = Transaction::new(Arc::clone(plan), BodyLimits::default());
                transaction.request_head(&head);
                let early = transaction.run(Phase::RequestHeaders);
                transaction.request_body(body.clone(), false);
                early.or_else(|| transaction.run(Phase::RequestBody))
            });
        });
    }
}

criterion_group!(benches, requests);
criterion_main!(benches);
