//! `portcullis waf explain`: why a request is judged as it is.

mod suggestion;

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use clap::Args;

use super::{Failure, print};
use crate::diagnostic::Diagnostics;
use crate::model::ruleset::{CategoryOverride, Overrides, RuleOverride};
use crate::rules;
use crate::ruleset::execute::Execution;
use crate::ruleset::{EntryPoint, ManagedRuleset, Outcome, Verdict, overrides, score};
use crate::waf::matcher::BodyLimits;
use crate::waf::{self, Match, Plan, Program, RequestHead, SEVERITIES};

/// Show every rule that a raw HTTP request matches, where, its score, and the verdict.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  printf \"GET /?q=1'+OR+1=1 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n\" | portcullis waf explain --request -"
)]
pub(super) struct Explain {
    /// SecLang files or folders; without it the rules in the binary.
    #[arg(long, value_name = "FILE_OR_DIR", num_args = 1..)]
    rules: Vec<String>,
    /// The request: head and body as they go over the wire. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    paranoia_level: u8,
    #[arg(long, value_name = "N", default_value_t = crate::ruleset::managed::DEFAULT_SCORE_THRESHOLD)]
    score_threshold: i64,
}

impl Explain {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let raw = self.read_request()?;
        let request = RawRequest::parse(&raw).map_err(Failure::Input)?;
        let paths = (!self.rules.is_empty()).then_some(self.rules.as_slice());
        let (ir, diagnostics) = rules::seclang(paths);
        let ir = diagnostics.into_result(ir)?;
        let program = Arc::new(waf::optimize::optimize(&ir));
        let deployment = |level| Deployment { paranoia_level: level, score_threshold: self.score_threshold };
        let own = deployment(self.paranoia_level);
        let verdict = judge(&own.entry_point(&program), &request);
        let mut text = String::new();
        verdict.matches.iter().for_each(|m| describe(&mut text, m));
        // INVARIANT: writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "score {} at paranoia level {}, threshold {}: {}",
            verdict.score,
            self.paranoia_level,
            self.score_threshold,
            word(&verdict)
        );
        for level in 1..=4 {
            let verdict = judge(&deployment(level).entry_point(&program), &request);
            let _ = writeln!(text, "  at level {level}: score {}, {}", verdict.score, word(&verdict));
        }
        text.extend(suggestion::suggest(&ir, own, &request));
        print(&text)
    }

    fn read_request(&self) -> Result<Vec<u8>, Failure> {
        use std::io::Read;
        let name = self.request.display().to_string();
        let unreadable = |error| Failure::Input(format!("cannot read `{name}`: {error}"));
        if name == "-" {
            let mut raw = Vec::new();
            std::io::stdin().read_to_end(&mut raw).map_err(unreadable)?;
            return Ok(raw);
        }
        std::fs::read(&self.request).map_err(unreadable)
    }
}

/// The rules as a zone would run them.
#[derive(Clone, Copy, Debug)]
struct Deployment {
    paranoia_level: u8,
    score_threshold: i64,
}

impl Deployment {
    fn entry_point(self, program: &Arc<Program>) -> EntryPoint {
        let managed = ManagedRuleset::owasp(program);
        let effective = overrides::apply(&managed, &self.settings(&managed), &mut Diagnostics::default());
        let plan = Arc::new(Plan::new(Arc::clone(program), &score::plan_settings(&managed, &effective)));
        let threshold_rule =
            managed.threshold_rule().and_then(|rule| rule.reference.parse().ok()).unwrap_or(0);
        EntryPoint { executions: vec![Execution { plan, threshold_rule }] }
    }

    fn settings(self, managed: &ManagedRuleset) -> Overrides {
        let above = (self.paranoia_level + 1..=4).map(|level| format!("paranoia-level-{level}"));
        let last = managed.threshold_rule().map(|rule| RuleOverride {
            id: rule.id.to_string(),
            score_threshold: Some(self.score_threshold),
            ..RuleOverride::default()
        });
        Overrides {
            categories: above
                .map(|category| CategoryOverride { category, enabled: Some(false), action: None })
                .collect(),
            rules: last.into_iter().collect(),
            ..Overrides::default()
        }
    }
}

/// A request as it goes over the wire; bare LF is taken for a line end, since people write files.
#[derive(Debug)]
struct RawRequest<'r> {
    method: &'r [u8],
    target: &'r [u8],
    protocol: &'r str,
    headers: Vec<(&'r [u8], &'r [u8])>,
    body: &'r [u8],
}

impl<'r> RawRequest<'r> {
    fn parse(raw: &'r [u8]) -> Result<Self, String> {
        let mut rest = raw;
        let mut line = || {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or(&[]);
            line.strip_suffix(b"\r").unwrap_or(line)
        };
        let first = line();
        let mut words = first.splitn(2, |byte| *byte == b' ');
        let (method, target) = (words.next().unwrap_or(&[]), words.next().unwrap_or(&[]));
        let space = memchr::memrchr(b' ', target).ok_or("the first line is not `METHOD /target HTTP/1.1`")?;
        let (target, protocol) = target.split_at(space);
        let protocol = std::str::from_utf8(protocol.trim_ascii()).map_err(|_| "the protocol is not text")?;
        let mut headers = Vec::new();
        loop {
            let field = line();
            if field.is_empty() {
                break;
            }
            let colon = memchr::memchr(b':', field)
                .ok_or_else(|| format!("`{}` is not a header", String::from_utf8_lossy(field)))?;
            let (name, value) = field.split_at(colon);
            headers.push((name, value.get(1..).unwrap_or(&[]).trim_ascii()));
        }
        Ok(Self { method, target, protocol, headers, body: rest })
    }
}

fn judge(entry_point: &EntryPoint, request: &RawRequest<'_>) -> Verdict {
    let head = RequestHead {
        method: request.method,
        target: request.target,
        protocol: request.protocol,
        headers: &request.headers,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        request_id: "explain",
        received: crate::clock::Clock::real().unix(),
    };
    let mut run = entry_point.start(&head, BodyLimits::default());
    run.body(&Bytes::copy_from_slice(request.body), false);
    run.verdict()
}

fn word(verdict: &Verdict) -> String {
    match verdict.outcome {
        Outcome::Pass => "passes".to_owned(),
        Outcome::Logged { rule } => format!("logged by rule {rule}"),
        Outcome::Blocked { rule, status } => format!("blocked by rule {rule} with {status}"),
    }
}

fn describe(text: &mut String, m: &Match) {
    let severity = m.severity.and_then(|s| SEVERITIES.get(usize::from(s))).copied().unwrap_or("-");
    let _ = writeln!(text, "rule {} (+{}, {severity}) {}", m.rule, m.score, m.message);
    if !m.variable.is_empty() {
        let _ = writeln!(text, "  {}: {}", m.variable, marked(&m.value, m.span));
    }
    if !m.data.is_empty() {
        let _ = writeln!(text, "  {}", m.data);
    }
    let _ = writeln!(text, "  {}  {}\n", m.tags.join(" "), m.place);
}

/// The value with the match between `>>` and `<<`; control bytes are escaped.
fn marked(value: &[u8], span: Option<(usize, usize)>) -> String {
    let escaped = |part: &[u8]| part.escape_ascii().to_string().replace("\\'", "'").replace("\\\"", "\"");
    match span.filter(|(start, end)| start <= end && *end <= value.len()) {
        Some((start, end)) => {
            let part = |from: usize, to: usize| escaped(value.get(from..to).unwrap_or(&[]));
            format!("{}>>{}<<{}", part(0, start), part(start, end), part(end, value.len()))
        }
        None => escaped(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_taken_apart() {
        let request = RawRequest::parse(b"POST /a b HTTP/1.1\r\nHost: x\nA:b\r\n\r\nbody\n").unwrap();
        assert_eq!(
            (request.method, request.target, request.protocol),
            (&b"POST"[..], &b"/a b"[..], "HTTP/1.1")
        );
        assert_eq!((request.headers.len(), request.body), (2, &b"body\n"[..]));
        assert!(RawRequest::parse(b"GET\r\n\r\n").is_err());
        assert_eq!(marked(b"ab\ncd", Some((1, 3))), "a>>b\\n<<cd");
    }
}
