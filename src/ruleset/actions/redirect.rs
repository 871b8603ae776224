//! `redirect`: leads the client to another address.

use std::sync::Arc;

use http::Uri;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use super::{CompiledAction, Definition, Sources};
use crate::ruleset::replacing::Replacing;
use diagnostic::{Code, Diagnostic};
use expression::Facts;
use model::ruleset::{ActionParameters, Rule};
use model::{Action, Phase};

pub const DEFINITION: Definition = Definition {
    actions: &[Action::Redirect],
    phases: &[Phase::HttpRequestDynamicRedirect, Phase::HttpRequestRedirect],
    compile,
};

const STATUS_CODES: [u16; 5] = [301, 302, 303, 307, 308];
/// Longest address, in bytes.
const MAX_BYTES: usize = 16 << 10;
/// What no address has (RFC 3986 section 2).
pub const NOT_IN_URIS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Where a rule leads.
#[derive(Debug)]
pub struct Redirect {
    target: Replacing,
    status: u16,
    keeps_query: bool,
}

/// An answer that leads elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    pub status: u16,
    /// Printable ASCII; `None` if the rule gives no address that is safe to follow.
    pub location: Option<String>,
}

fn compile(rule: &Rule, phase: Phase, sources: &mut Sources<'_>) -> Option<CompiledAction> {
    let Some(ActionParameters::Redirect(parameters)) = &rule.action_parameters else {
        let message = "the action `redirect` needs `action_parameters` with `from_value`";
        sources.diagnostics.push(Diagnostic::error(Code::RulesetBadParameters, message));
        return None;
    };
    let target = &parameters.from_value;
    let pointer = "action_parameters/from_value";
    if !STATUS_CODES.contains(&target.status_code) {
        let message = format!("`status_code` takes 301, 302, 303, 307 or 308, found {}", target.status_code);
        let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
        sources.diagnostics.push(diagnostic.pointing(format!("{pointer}/status_code")));
        return None;
    }
    let url = format!("{pointer}/target_url");
    let replacing = Replacing::compile(&target.target_url, &url, phase, sources)?;
    let redirect =
        Redirect { target: replacing, status: target.status_code, keeps_query: target.preserve_query_string };
    if let Replacing::Text(text) = &redirect.target
        && redirect.checked(text.as_bytes(), "").is_none()
    {
        let message = format!("`{text}` is neither a path nor an address with `http` or `https`");
        let diagnostic = Diagnostic::error(Code::RulesetBadParameters, message);
        sources.diagnostics.push(diagnostic.pointing(format!("{url}/value")));
        return None;
    }
    Some(CompiledAction::Redirect(Arc::new(redirect)))
}

impl Redirect {
    /// Where a request is led; `None` if that is where it is.
    pub fn answer(&self, facts: &Facts<'_>) -> Option<Redirection> {
        let status = self.status;
        let target = self.target.give(facts).and_then(|target| self.checked(&target, facts.host));
        let Some(mut location) = target else { return Some(Redirection { status, location: None }) };
        let sent = facts.request.origin_form();
        let query = sent.iter().position(|byte| *byte == b'?').and_then(|at| sent.get(at + 1..));
        if let Some(query) = query.filter(|query| self.keeps_query && !query.is_empty()) {
            let query = percent_encode(query, NOT_IN_URIS).to_string();
            let at = location.find('#').unwrap_or(location.len());
            let sign = if location.contains('?') { '&' } else { '?' };
            location.insert_str(at, &format!("{sign}{query}"));
        }
        let scheme = if facts.tls { "https" } else { "http" };
        let own = format!("{scheme}://{}{}", facts.host, percent_encode(sent, NOT_IN_URIS));
        let path = location.starts_with('/').then(|| format!("{scheme}://{}{location}", facts.host));
        if path.as_ref().unwrap_or(&location) == &own {
            return None;
        }
        Some(Redirection { status, location: Some(location) })
    }

    /// An address as it can be sent. A client may have chosen a part of it, but never the host: that is the one of the
    /// request, or one whose last labels are the rule's own words.
    fn checked(&self, target: &[u8], host: &str) -> Option<String> {
        if target.len() > MAX_BYTES {
            return None;
        }
        let location = percent_encode(target, NOT_IN_URIS).to_string();
        if location.starts_with('/') {
            // `//host` is an address of another host.
            return Some(format!("/{}", location.trim_start_matches('/')));
        }
        let uri: Uri = location.split('#').next()?.parse().ok()?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let authority = uri.authority().filter(|authority| is_http && !authority.as_str().contains('@'))?;
        let named = authority.host().to_ascii_lowercase();
        (named.eq_ignore_ascii_case(host) || self.writes(&named)).then_some(location)
    }
}

impl Redirect {
    /// Whether a host, or two of its last labels at least, stands in the rule's own words. Names of fields are none of
    /// these: `http.host` is a host that anyone can have.
    fn writes(&self, host: &str) -> bool {
        let literals: Vec<String> = self
            .target
            .literals()
            .into_iter()
            .map(|literal| String::from_utf8_lossy(literal).to_ascii_lowercase())
            .collect();
        let ends = host.match_indices('.').filter_map(|(at, _)| host.get(at + 1..));
        ends.filter(|end| end.contains('.'))
            .chain([host])
            .any(|end| literals.iter().any(|literal| has_host(literal, end)))
    }
}

/// Whether a text has a host, or the end of one, that no letter goes on with.
fn has_host(text: &str, host: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices(host).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + host.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_of_name) && !after.is_some_and(|c| is_of_name(c) || c == '.')
    })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;
    use expression::ValueExpression;
    use seclang::RequestHead;

    fn answer(expression: &str, target: &str, keeps_query: bool) -> Option<Redirection> {
        let request = RequestHead {
            method: b"GET",
            target: target.as_bytes(),
            protocol: "HTTP/1.1",
            headers: &[(b"Host", b"a.example")],
            client: Ipv4Addr::LOCALHOST.into(),
            server: None,
            request_id: "0",
            received: Duration::ZERO,
        };
        let expression =
            ValueExpression::text(expression, Phase::HttpRequestRedirect, &expression::NamedSets::default())
                .unwrap();
        Redirect { target: Replacing::Expression(expression), status: 302, keeps_query }
            .answer(&Facts::of_request(&request))
    }

    #[test]
    fn no_client_leads_another_to_a_host_of_its_choice() {
        let to = |expression: &str, target: &str| {
            answer(expression, target, false).and_then(|answer| answer.location)
        };
        let raw = "raw.http.request.uri.path";
        for (expression, target, expected) in [
            (format!("concat(\"https://new.example\", {raw})"), "/a", Some("https://new.example/a")),
            (format!("concat(\"https://\", http.host, \"/x\", {raw})"), "/a", Some("https://a.example/x/a")),
            (format!("concat(\"\", {raw})"), "//evil.example/a", Some("/evil.example/a")),
            (format!("concat(\"\", {raw})"), "///evil.example", Some("/evil.example")),
            (format!("concat(\"\", {raw})"), "/\\evil.example", None),
            (format!("concat(\"\", {raw})"), "/\\/evil.example", None),
            ("http.request.uri.query".to_owned(), "/?https://evil.example/", None),
            ("http.request.uri.query".to_owned(), "/?javascript:alert(1)", None),
            ("http.request.uri.args[\"u\"][0]".to_owned(), "/?u=//evil.example", Some("/evil.example")),
            ("http.request.uri.args[\"u\"][0]".to_owned(), "/", None),
            ("concat(\"https://new.example\", http.request.uri.query)".to_owned(), "/?.evil.test", None),
            ("concat(\"https://new.example\", http.request.uri.query)".to_owned(), "/?@evil.test", None),
            ("concat(\"https://new.example\", http.request.uri.query)".to_owned(), "/?evil.test", None),
            ("concat(http.request.uri.query, http.host)".to_owned(), "/?https://http.host/", None),
            (
                "concat(http.request.uri.args[\"a.test\"][0], \"\")".to_owned(),
                "/?a.test=https://a.test/",
                None,
            ),
            ("concat(\"https://new.example\", http.request.uri.query)".to_owned(), "/?.http.host/", None),
            (
                "concat(\"https://\", http.request.uri.query, \".new.example/\")".to_owned(),
                "/?b",
                Some("https://b.new.example/"),
            ),
            (
                "concat(\"https://\", http.request.uri.query, \".new.example/\")".to_owned(),
                "/?evil.test/",
                None,
            ),
            (
                "concat(\"https://\", http.request.uri.query, \".new.example/\")".to_owned(),
                "/?evil.test%23",
                None,
            ),
            (
                "concat(\"/a\", http.request.uri.args[\"u\"][0])".to_owned(),
                "/?u=%0d%0aSet-Cookie:%20x",
                Some("/a%0D%0ASet-Cookie:%20x"),
            ),
        ] {
            assert_eq!(to(&expression, target).as_deref(), expected, "{expression} of {target}");
        }
    }

    #[test]
    fn the_query_is_kept_before_a_fragment_and_no_request_is_led_to_itself() {
        let location = |expression: &str, target: &str| {
            answer(expression, target, true).map(|answer| answer.location.unwrap())
        };
        assert_eq!(location("concat(\"/b\", \"\")", "/a?x=1").as_deref(), Some("/b?x=1"));
        assert_eq!(location("concat(\"/b?y=2#c\", \"\")", "/a?x=1&z").as_deref(), Some("/b?y=2&x=1&z#c"));
        assert_eq!(location("concat(\"/b\", \"\")", "/b?x=1"), None);
        assert_eq!(location("concat(\"http://a.example/b\", \"\")", "/b"), None);
        assert!(location("concat(\"https://a.example/b\", \"\")", "/b").is_some());
    }
}
