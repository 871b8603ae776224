//! `portcullis waf why`: which rules refused or changed a request, from its ray id and the log.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::exclusion::target;
use super::logged::{self, LoggedEvent, LoggedRule};
use super::{Failure, print, printable};
use crate::rules;
use model::Phase;
use model::security_record::Contribution;
use seclang::ir::RuleSetIr;

/// Show the rules that refused, logged or changed a request, by its ray id.
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

impl Why {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let paths = (!self.rules.is_empty()).then_some(self.rules.as_slice());
        let (ir, diagnostics) = rules::seclang(paths);
        let ir = diagnostics.into_result(ir)?;
        let mut text = String::new();
        let name = logged::events(self.log.as_deref(), |event| {
            if event.ray == self.ray {
                describe(&event, &ir, &mut text);
            }
        })?;
        if text.is_empty() {
            return Err(Failure::Input(format!(
                "no rule acted on ray `{}` in {name}; expected the log of the node that answered, from the time of the request",
                self.ray
            )));
        }
        print(&text)
    }
}

fn describe(line: &LoggedEvent, ir: &RuleSetIr, text: &mut String) {
    // INVARIANT: writing to a `String` cannot fail.
    let LoggedEvent { time, method, host, path, action, status, .. } = line;
    for LoggedRule { phase, action, ruleset, rule, description } in &line.rules {
        let place = format!("rule {rule} of ruleset {ruleset}, phase {phase}");
        let _ = writeln!(text, "{}: {}", printable(action), printable(&place));
        if !description.is_empty() {
            let _ = writeln!(text, "    {}", printable(description));
        }
    }
    if !line.rules.is_empty() {
        return;
    }
    let _ = writeln!(text, "{time} {method} {}: {action}, {status}", printable(&format!("{host}{path}")));
    if line.source != Phase::HttpRequestFirewallManaged.source().0 {
        let LoggedEvent { reference, ruleset, description, .. } = line;
        let _ = writeln!(text, "  rule {} of ruleset {}", printable(reference), printable(ruleset));
        if !description.is_empty() {
            let _ = writeln!(text, "    {}", printable(description));
        }
        for (name, value) in &line.values {
            let _ = writeln!(text, "    {}: {}", printable(name), printable(value));
        }
        return;
    }
    for contribution in &line.contributions {
        let Contribution { reference: rule, description, score, variable, .. } = contribution;
        let _ =
            writeln!(text, "  rule {rule} (+{score}) {}: {}", printable(description), printable(variable));
        if let Some(root) = ir.roots().find(|root| root.id.to_string() == *rule) {
            let _ = writeln!(text, "    {}", root.place.label());
        }
    }
    let _ = writeln!(text, "  score {}", line.score);
    for contribution in line.contributions.iter().filter(|contribution| contribution.score > 0) {
        let _ = writeln!(
            text,
            "  to leave this field out of it: SecRuleUpdateTargetById {} \"!{}\"",
            contribution.reference,
            target(&contribution.variable)
        );
    }
}
