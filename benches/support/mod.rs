//! The requests and rule sets that the benches of the engine share.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portcullis::rules::Rules;
use portcullis::ruleset::ScoredRuleset;
use seclang::{BodyLimits, Interruption};
use seclang::{Phase, Plan, RequestHead, Transaction};

/// A request.
pub struct Case {
    pub name: &'static str,
    method: &'static [u8],
    target: &'static str,
    headers: Vec<(&'static [u8], &'static [u8])>,
    pub body: Bytes,
}

const FORM: &str = "application/x-www-form-urlencoded";

impl Case {
    fn get(name: &'static str, target: &'static str) -> Self {
        Self { name, method: b"GET", target, headers: head(&[]), body: Bytes::new() }
    }

    fn post(name: &'static str, content_type: &'static str, body: impl Into<String>) -> Self {
        let body = body.into();
        // A bench runs once; the length outlives it.
        let length: &'static str = body.len().to_string().leak();
        let headers = head(&[("Content-Type", content_type), ("Content-Length", length)]);
        Self { name, method: b"POST", target: "/post", headers, body: Bytes::from(body) }
    }

    /// Both request phases of one transaction.
    pub fn run(&self, plan: &Arc<Plan>) -> Option<Interruption> {
        let mut transaction = Transaction::new(Arc::clone(plan), BodyLimits::default());
        transaction.request_head(&RequestHead {
            method: self.method,
            target: self.target.as_bytes(),
            protocol: "HTTP/1.1",
            headers: &self.headers,
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server: None,
            request_id: "0123456789abcdef-1",
            received: Duration::ZERO,
        });
        let early = transaction.run(Phase::RequestHeaders);
        transaction.request_body(self.body.clone(), false);
        early.or_else(|| transaction.run(Phase::RequestBody))
    }
}

fn head(more: &[(&'static str, &'static str)]) -> Vec<(&'static [u8], &'static [u8])> {
    let usual = [
        ("Host", "www.example.com"),
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
        ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ];
    usual.iter().chain(more).map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
}

/// Small requests, as they come all day, and two attacks.
pub fn requests() -> Vec<Case> {
    let mut api = Case::get("api_get", "/api/v2/orders?status=open&limit=50&sort=-created&fields=id,total");
    api.headers.push((b"Authorization", b"Bearer c29tZS10b2tlbi10aGF0LWlzLWxvbmctZW5vdWdo"));
    let form = "first=Ann&last=Taylor&mail=ann%40shop.example&street=12+Main+Street&city=Springfield&zip=12345&country=US&note=Please+ring+twice";
    let graphql = r#"{"operationName":"Cart","query":"query Cart($id: ID!) { cart(id: $id) { items { sku count } } }","variables":{"id":"17"}}"#;
    vec![
        Case::get("simple_get", "/some_path/with?parameters=and&other=Stuff"),
        Case::get("static_asset", "/assets/app.4f2a9c.js"),
        api,
        Case::post("simple_post", FORM, "name=Ann&city=Springfield&page=2&sort=price"),
        Case::post("form_8_fields", FORM, form),
        Case::post(
            "json_post",
            "application/json",
            r#"{"id":17,"items":[{"sku":"A-1","count":2}],"note":"leave at the door"}"#,
        ),
        Case::post("graphql", "application/json", graphql),
        Case::get("sqli_get", "/?id=1'%20UNION%20SELECT%20a%20FROM%20b"),
        Case::get("xss_get", "/?q=%3Cscript%3Ealert(1)%3C/script%3E"),
    ]
}

/// Bodies of one to a thousand kilobytes, of each kind that is read, and texts that are costly to read.
pub fn bodies() -> Vec<Case> {
    const WORDS: &str = "The quick brown fox jumps over the lazy dog, 27 times in all. ";
    let mut cases = Vec::new();
    for (kilobytes, form, json, multipart) in [
        (1, "form_1kb", "json_1kb", "multipart_1kb"),
        (10, "form_10kb", "json_10kb", "multipart_10kb"),
        (100, "form_100kb", "json_100kb", "multipart_100kb"),
        (1000, "form_1000kb", "json_1000kb", "multipart_1000kb"),
    ] {
        let text = WORDS.repeat(kilobytes * 1000 / WORDS.len());
        cases.push(Case::post(form, FORM, format!("text={}", "a".repeat(kilobytes * 1000))));
        cases.push(Case::post(json, "application/json", format!(r#"{{"text":"{text}"}}"#)));
        let part = format!("--B\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n{text}\r\n--B--\r\n");
        cases.push(Case::post(multipart, "multipart/form-data; boundary=B", part));
    }
    let mut text = |name, text: &str| {
        let body = serde_json::json!({ "text": text }).to_string();
        cases.push(Case::post(name, "application/json", body));
    };
    text("prose_11kb", include_str!("../../LICENSE"));
    // What a reader that looks ahead from each of its marks would read again and again.
    text("comments_64kb", &"/*a".repeat(64_000 / 3));
    text("tags_64kb", &"<a style=".repeat(64_000 / 9));
    text("expressions_64kb", &"{{ ".repeat(64_000 / 3));
    text("quoted_braces_64kb", &"{\"".repeat(64_000 / 2));
    text("line_breaks_64kb", &"\n".repeat(64_000));
    text("quotes_64kb", &"'+".repeat(64_000 / 2));
    cases
}

/// The rules in the binary, the Core Rule Set that Debian ships, and that of `CRS_DIR`.
pub const RULE_SETS: [&str; 3] = ["own", "crs-3.3.4", "crs-4.28.0"];

/// A rule set; `None` where it is not on this machine.
pub fn rule_set(name: &str) -> Option<Rules> {
    let paths = paths(name)?;
    let paths = paths.as_ref().map(|paths| paths.as_slice());
    Some(portcullis::rules::load(paths, None).expect("the rules compile").0)
}

/// Where a rule set stands, `None` inside for the one in the binary; `None` where it is not on this
/// machine.
pub fn paths(name: &str) -> Option<Option<[String; 2]>> {
    let paths = match name {
        "own" => None,
        "crs-3.3.4" => Some(
            ["/etc/modsecurity/crs/crs-setup.conf", "/usr/share/modsecurity-crs/rules"].map(str::to_owned),
        ),
        "crs-4.28.0" => {
            let folder = std::env::var("CRS_DIR").ok()?;
            Some([format!("{folder}/crs-setup.conf.example"), format!("{folder}/rules")])
        }
        _ => return None,
    };
    let is_here = paths.iter().flatten().all(|path| Path::new(path).exists());
    is_here.then_some(paths)
}

/// The rules as a zone of this paranoia level runs them.
pub fn plan(rules: &Rules, level: u8) -> Arc<Plan> {
    ScoredRuleset::short_form(&rules.program, &rules.owasp, level, 5).plan
}
