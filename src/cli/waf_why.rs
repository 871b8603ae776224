//! `portcullis waf why`: which rules refused a request, from its ray id and the log.

use std::fmt::Write;
use std::io::BufRead;
use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::{Failure, print};
use crate::rules;
use crate::waf::ir::RuleSetIr;

/// Show the rules that a request matched, by the ray id on its block page.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  portcullis waf why 4f1c09a2b7d35e68-1 --log portcullis.log\n  journalctl -u portcullis -o cat | portcullis waf why 4f1c09a2b7d35e68-1"
)]
pub(super) struct Why {
    /// The request's `svc-ray`.
    ray: String,
    /// The log that `portcullis run` wrote; without it standard input.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The rules that ran, as in `rules.owasp`; without it those in the binary.
    #[arg(long, value_name = "FILE_OR_DIR", num_args = 1..)]
    rules: Vec<String>,
}

/// What is read of a `security_event`.
#[derive(Debug, Deserialize)]
struct Line {
    event: String,
    #[serde(rename = "RayID", default)]
    ray: String,
    #[serde(rename = "Datetime", default)]
    datetime: String,
    #[serde(rename = "Action", default)]
    action: String,
    #[serde(rename = "ClientRequestMethod", default)]
    method: String,
    #[serde(rename = "ClientRequestHost", default)]
    host: String,
    #[serde(rename = "ClientRequestPath", default)]
    path: String,
    #[serde(rename = "EdgeResponseStatus", default)]
    status: u16,
    #[serde(default)]
    score: i64,
    #[serde(default)]
    contributions: Vec<Contribution>,
}

#[derive(Debug, Deserialize)]
struct Contribution {
    #[serde(rename = "Ref")]
    rule: String,
    #[serde(rename = "Description")]
    description: String,
    score: i64,
    variable: String,
}

impl Why {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let name =
            self.log.as_ref().map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
        let unreadable = |error: std::io::Error| Failure::Input(format!("cannot read `{name}`: {error}"));
        let reader: Box<dyn BufRead> = match &self.log {
            Some(path) => Box::new(std::io::BufReader::new(std::fs::File::open(path).map_err(unreadable)?)),
            None => Box::new(std::io::stdin().lock()),
        };
        let paths = (!self.rules.is_empty()).then_some(self.rules.as_slice());
        let (ir, diagnostics) = rules::seclang(paths);
        let ir = diagnostics.into_result(ir)?;
        let mut text = String::new();
        for line in reader.split(b'\n') {
            let line = line.map_err(unreadable)?;
            // Other programs may write to the same log.
            let Ok(line) = serde_json::from_slice::<Line>(&line) else { continue };
            if line.event == "security_event" && line.ray == self.ray {
                describe(&line, &ir, &mut text);
            }
        }
        if text.is_empty() {
            return Err(Failure::Input(format!(
                "no rule acted on ray `{}` in {name}; expected the log of the node that answered, from the time of the request",
                self.ray
            )));
        }
        print(&text)
    }
}

fn describe(line: &Line, ir: &RuleSetIr, text: &mut String) {
    // INVARIANT: writing to a `String` cannot fail.
    let _ = writeln!(
        text,
        "{} {} {}{}: {}, {}",
        line.datetime, line.method, line.host, line.path, line.action, line.status
    );
    for contribution in &line.contributions {
        let Contribution { rule, description, score, variable } = contribution;
        let _ = writeln!(text, "  rule {rule} (+{score}) {description}: {variable}");
        if let Some(root) = ir.roots().find(|root| root.id.to_string() == *rule) {
            let _ = writeln!(text, "    {}", root.place.label());
        }
    }
    let _ = writeln!(text, "  score {}", line.score);
    for contribution in line.contributions.iter().filter(|contribution| contribution.score > 0) {
        let _ = writeln!(
            text,
            "  to leave this field out of it: SecRuleUpdateTargetById {} \"!{}\"",
            contribution.rule, contribution.variable
        );
    }
}
