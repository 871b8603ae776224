//! The requests and rule sets that the benches of the engine share.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use seclang::syntax::{Loader, MemoryLoader};
use seclang::{
    ActionOverride, BodyLimits, Interruption, Phase, Plan, PlanSettings, Program, RequestHead, RuleSetIr,
    Transaction,
};

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
    text("slashes_64kb", &"=\"//".repeat(64_000 / 4));
    text("code_spans_64kb", &"`A`".repeat(64_000 / 3));
    cases
}

/// The rules in the binary, the Core Rule Set that Debian ships, and that of `CRS_DIR`.
pub const RULE_SETS: [&str; 3] = ["own", "crs-3.3.4", "crs-4.28.0"];

/// A rule set, lowered; `None` where it is not on this machine.
pub fn lowered(name: &str) -> Option<RuleSetIr> {
    let (ir, diagnostics) = match paths(name)? {
        None => {
            let texts = || shipped_rules::OWASP.iter().map(|(name, text)| ((*name).to_owned(), *text));
            let names: Vec<String> = texts().map(|(name, _)| name).collect();
            let texts = texts().map(|(name, text)| (name, text.to_owned())).collect();
            seclang::load(&names, &MemoryLoader(texts))
        }
        Some([setup, folder]) => {
            let entries = std::fs::read_dir(folder).expect("the folder can be read");
            let paths = entries.map(|entry| entry.expect("an entry of it").path());
            let rules = paths.filter(|path| path.extension().is_some_and(|found| found == "conf"));
            let mut names: Vec<String> = rules.map(|path| path.display().to_string()).collect();
            names.sort_unstable();
            names.insert(0, setup);
            seclang::load(&names, &FolderLoader)
        }
    };
    Some(diagnostics.into_result(ir).expect("the rules compile"))
}

/// Rules on disk, and what they name beside them.
struct FolderLoader;

impl Loader for FolderLoader {
    fn read(&self, name: &str) -> Result<String, String> {
        let bytes = std::fs::read(name).map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn resolve(&self, from: &str, pattern: &str) -> Result<Vec<String>, String> {
        Ok(vec![Path::new(from).with_file_name(pattern).display().to_string()])
    }
}

/// A rule set, compiled; `None` where it is not on this machine.
pub fn rule_set(name: &str) -> Option<Arc<Program>> {
    lowered(name).map(|ir| Arc::new(seclang::optimize(&ir)))
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

/// The rules as a zone of this paranoia level runs them: a test of the edge compares both.
pub fn plan(program: &Arc<Program>, level: u8) -> Arc<Plan> {
    let is_above = |tag: &str| {
        let found = tag
            .strip_prefix("paranoia-level")
            .and_then(|rest| rest.strip_prefix(['/', '-']))
            .and_then(|found| found.parse::<u8>().ok());
        found.is_some_and(|found| found > level)
    };
    let scoring =
        program.roots().iter().filter(|root| !root.meta.msg_text.is_empty() && !root.is_disruptive());
    let disabled = scoring.filter(|root| root.meta.tags.iter().any(|tag| is_above(tag))).map(|root| root.id);
    let levels =
        ["blocking_paranoia_level", "detection_paranoia_level", "paranoia_level", "executing_paranoia_level"];
    let levels = levels.map(|name| (name.to_owned(), level.to_string()));
    let threshold = ("inbound_anomaly_score_threshold".to_owned(), "5".to_owned());
    let settings = PlanSettings {
        disabled: disabled.collect(),
        variables: std::iter::once(threshold).chain(levels).collect(),
        actions: program
            .threshold_rule()
            .map(|root| ActionOverride { rule: root.id, refuses: true })
            .into_iter()
            .collect(),
        only_reports: false,
    };
    Arc::new(Plan::new(Arc::clone(program), &settings))
}
