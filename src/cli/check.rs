//! `portcullis check`: every mistake of a configuration, with its place.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::{Failure, print};
use crate::control::{self, ConfSource};
use crate::rules;
use store::MemoryStore;

/// Check a configuration and the rules it names.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis check --conf conf/portcullis.toml --explain")]
pub(super) struct Check {
    /// The configuration file.
    #[arg(long, value_name = "FILE")]
    conf: PathBuf,
    /// Also print the rulesets that zones are compiled from, and the compiled rules.
    #[arg(long)]
    explain: bool,
}

impl Check {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let start = control::start(&ConfSource::File(self.conf), &MemoryStore::default())?;
        let mut text = start.warnings.to_string();
        // What they are compiled from is not kept: a server never asks for it.
        let (ir, _) = rules::seclang(start.conf.owasp.as_deref());
        for id in rules::bodies::added(&ir) {
            // INVARIANT: writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "note: rule {id} is added for bodies that cannot be read, because no rule of `rules.owasp` looks at \
                 `REQBODY_ERROR`; a rule that does takes its place"
            );
        }
        let slow: Vec<&str> = ir.patterns.backtracking().collect();
        for root in ir.roots() {
            let operators =
                std::iter::once(root).chain(&root.chain).filter_map(|link| link.operator.as_ref());
            for operator in operators.filter(|operator| slow.contains(&operator.argument.as_str())) {
                // INVARIANT: writing to a `String` cannot fail.
                let _ = writeln!(
                    text,
                    "note: rule {} runs on the step-limited backtracker ({})",
                    root.id,
                    operator.place.label()
                );
            }
        }
        if self.explain {
            for zone in start.snapshot.zones() {
                let rulesets = serde_json::to_string_pretty(&zone.rulesets).unwrap_or_default();
                let _ = writeln!(text, "zone {}\n{rulesets}\n", zone.name);
            }
            let _ = writeln!(text, "{ir}");
        }
        let zones = start.snapshot.zones().count();
        let _ = writeln!(
            text,
            "ok: {zones} zones, {} gateways, {} rules, {} sensitive data rules",
            start.conf.resources.gateways.len(),
            start.snapshot.rules,
            start.rules.detector.rules().len()
        );
        print(&text)
    }
}
