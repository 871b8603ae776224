//! `portcullis waf explain`: why a request is judged as it is.

mod profile;
mod suggestion;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::deployment::{self, Deployment};
use super::{Failure, print, printable};
use crate::regression::RawRequest;
use crate::rules;
use crate::ruleset::actions::challenge;
use crate::ruleset::{EntryPoint, Outcome, Verdict};
use seclang::{Match, Watch};

/// Show every rule that a raw HTTP request matches, where, its score, and the verdict.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  printf \"GET /?q=1'+OR+1=1 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n\" | portcullis waf explain --request -"
)]
pub(super) struct Explain {
    /// SecLang files or folders; without it the rules in the binary.
    #[arg(long, value_name = "FILE_OR_DIR", num_args = 1..)]
    rules: Vec<String>,
    /// A configuration, whose rules are taken.
    #[arg(long, value_name = "FILE", conflicts_with = "rules")]
    conf: Option<PathBuf>,
    /// The request: head and body as they go over the wire. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    paranoia_level: u8,
    #[arg(long, value_name = "N", default_value_t = crate::ruleset::managed::DEFAULT_SCORE_THRESHOLD)]
    score_threshold: i64,
    /// Show what each rule costs on this request, slowest first.
    #[arg(long)]
    profile: bool,
}

impl Explain {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let raw = read_request(&self.request)?;
        let request = Request::parse(&raw).map_err(Failure::Input)?;
        let of_conf = match &self.conf {
            Some(path) => crate::conf::load(path)?.0.owasp,
            None => (!self.rules.is_empty()).then(|| self.rules.clone()),
        };
        let (ir, diagnostics) = rules::seclang(of_conf.as_deref());
        let ir = diagnostics.into_result(ir)?;
        let program = Arc::new(seclang::optimize(&ir));
        let deployment = |level| Deployment { paranoia_level: level, score_threshold: self.score_threshold };
        let own = deployment(self.paranoia_level);
        if self.profile {
            return print(&profile::profile(&own.entry_point(&program), &program, &request));
        }
        let verdict = judge(&own.entry_point(&program), &request, &mut ());
        let mut text = String::new();
        verdict.matches.iter().for_each(|m| describe(&mut text, m));
        // INVARIANT: writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "score {} at paranoia level {}, threshold {}: {}",
            verdict.score.all,
            self.paranoia_level,
            self.score_threshold,
            word(&verdict)
        );
        for level in 1..=4 {
            let verdict = judge(&deployment(level).entry_point(&program), &request, &mut ());
            let _ = writeln!(text, "  at level {level}: score {}, {}", verdict.score.all, word(&verdict));
        }
        text.extend(suggestion::suggest(&ir, own, &request));
        print(&text)
    }
}

/// A request from a file; `-` is standard input.
pub(super) fn read_request(path: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let name = path.display().to_string();
    let unreadable = |error| Failure::Input(format!("cannot read `{name}`: {error}"));
    if name == "-" {
        let mut raw = Vec::new();
        std::io::stdin().read_to_end(&mut raw).map_err(unreadable)?;
        return Ok(raw);
    }
    std::fs::read(path).map_err(unreadable)
}

/// A request with its first line taken apart.
#[derive(Debug)]
struct Request<'r> {
    method: &'r [u8],
    target: &'r [u8],
    protocol: &'r str,
    raw: RawRequest<'r>,
}

impl<'r> Request<'r> {
    fn parse(raw: &'r [u8]) -> Result<Self, String> {
        let raw = RawRequest::split(raw)?;
        let (method, target, protocol) = raw.parts()?;
        Ok(Self { method, target, protocol, raw })
    }
}

fn judge(entry_point: &EntryPoint, request: &Request<'_>, watch: &mut impl Watch) -> Verdict {
    let Request { method, target, protocol, raw } = request;
    deployment::judge(entry_point, &deployment::head(method, target, protocol, &raw.headers), raw.body, watch)
}

fn word(verdict: &Verdict) -> String {
    match &verdict.outcome {
        Outcome::Pass => "passes".to_owned(),
        Outcome::Logged { rule } => format!("logged by rule {}", rule.reference),
        Outcome::Challenged { rule, level } => {
            format!("answered with a {} by rule {}", challenge::action(*level).word(), rule.reference)
        }
        Outcome::Blocked { rule, status } => format!("blocked by rule {} with {status}", rule.reference),
    }
}

fn describe(text: &mut String, m: &Match) {
    let severity = m.severity_word().unwrap_or("-");
    let _ = writeln!(text, "rule {} (+{}, {severity}) {}", m.rule, m.score, printable(&m.message));
    for value in &m.values {
        let _ = writeln!(text, "  {}: {}", printable(&value.variable), marked(&value.value, value.span));
    }
    if !m.data.is_empty() {
        let _ = writeln!(text, "  {}", printable(&m.data));
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
    fn the_match_is_marked() {
        assert_eq!(marked(b"ab\ncd", Some((1, 3))), "a>>b\\n<<cd");
    }
}
