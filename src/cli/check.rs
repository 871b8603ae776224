//! `portcullis check`: every error of a configuration, with its place.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::{Failure, check_fix, print};
use crate::control::{self, ConfSource};
use crate::rules;
use pattern::EngineKind;
use seclang::ir::RuleSetIr;
use store::MemoryStore;

/// Check a configuration and the rules it names.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portcullis check --conf conf/portcullis.toml --explain")]
pub(super) struct Check {
    /// The configuration file.
    #[arg(long, value_name = "FILE")]
    conf: PathBuf,
    /// Also print the rulesets that zones are compiled from, the compiled rules, and the engine of each pattern.
    #[arg(long)]
    explain: bool,
    /// Rewrite keys that end as what takes their place. Comments stay.
    #[arg(long)]
    fix: bool,
}

impl Check {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let rewritten = if self.fix { check_fix::fix(&self.conf)? } else { Vec::new() };
        let start = control::start(&ConfSource::File(self.conf), &MemoryStore::default())?;
        let mut text = start.warnings.to_string();
        for key in rewritten {
            // INVARIANT: writing to a `String` cannot fail.
            let _ = writeln!(text, "note: rewrote `{key}`");
        }
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
        let engines = engines(&ir);
        for (rule, place, _) in engines.iter().filter(|(_, _, kind)| *kind == EngineKind::Backtracker) {
            // INVARIANT: writing to a `String` cannot fail.
            let _ = writeln!(text, "note: rule {rule} runs on the step-limited backtracker ({place})");
        }
        if self.explain {
            for zone in start.snapshot.zones() {
                let rulesets = serde_json::to_string_pretty(&zone.rulesets).unwrap_or_default();
                let _ = writeln!(text, "zone {} ({})\n{rulesets}\n", zone.name, zone.id);
            }
            let _ = writeln!(text, "{ir}");
            let _ = writeln!(text, "engines of patterns:");
            for (rule, place, kind) in &engines {
                let _ = writeln!(text, "  {rule} ({place}): {}", kind.describe());
            }
            for rule in start.rules.detector.rules() {
                if let Some(kind) = rule.pattern_engine() {
                    let _ = writeln!(text, "  {}: {}", rule.id, kind.describe());
                }
            }
        }
        let zones = start.snapshot.zones().count();
        let _ = writeln!(
            text,
            "ok (zones: {zones}, gateways: {}, rules: {}, sensitive data rules: {})",
            start.conf.resources.gateways.len(),
            start.snapshot.rules,
            start.rules.detector.rules().len()
        );
        print(&text)
    }
}

/// Of each operator that searches for a pattern: the rule, its place and the pattern's engine.
fn engines(ir: &RuleSetIr) -> Vec<(u64, String, EngineKind)> {
    let mut engines = Vec::new();
    for root in ir.roots() {
        let operators = std::iter::once(root).chain(&root.chain).filter_map(|link| link.operator.as_ref());
        engines.extend(operators.filter_map(|operator| {
            let kind = ir.patterns.engine_kind(&operator.argument)?;
            Some((root.id, operator.place.label(), kind))
        }));
    }
    engines
}
