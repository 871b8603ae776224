//! The narrowest exclusion that lets a request pass: for each rule that must give way, the one
//! variable that it matched, on the path of the request.

use std::fmt::Write;
use std::sync::Arc;

use super::{Request, judge};
use crate::cli::deployment::Deployment;
use crate::model::RuleId;
use crate::ruleset::{Outcome, Verdict};
use crate::waf::ir::{ItemIr, RuleSetIr, SelectorIr, TargetIr, exclude};
use crate::waf::{Match, optimize, variables};

/// Most exclusions that are tried one after the other.
const MAX_EXCLUSIONS: usize = 50;
/// From here on an id is looked for that is free; ids below 100,000 are for local rules.
const FIRST_ID: u64 = 1000;

/// A rule and what it is no longer to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exclusion {
    rule: u64,
    /// As `ARGS:q`.
    variable: String,
}

/// The text of a suggestion; `None` where the request passes as it is, or no exclusion helps.
pub(super) fn suggest(ir: &RuleSetIr, deployment: Deployment, request: &Request<'_>) -> Option<String> {
    let verdict = |exclusions: &[Exclusion]| {
        let program = Arc::new(optimize::optimize(&without(ir, exclusions)));
        judge(&deployment.entry_point(&program), request, &mut ())
    };
    let mut last = verdict(&[]);
    if last.outcome == Outcome::Pass {
        return None;
    }
    let mut exclusions = Vec::new();
    while last.outcome != Outcome::Pass {
        let next = worst(&last, &exclusions).filter(|_| exclusions.len() < MAX_EXCLUSIONS)?;
        exclusions.push(next);
        last = verdict(&exclusions);
    }
    // What turns out not to be needed stays as it is.
    let mut at = 0;
    while at < exclusions.len() {
        let mut fewer = exclusions.clone();
        fewer.remove(at);
        if verdict(&fewer).outcome == Outcome::Pass {
            exclusions = fewer;
        } else {
            at += 1;
        }
    }
    Some(describe(ir, &exclusions, request))
}

/// The match that counts most and is not excluded yet.
fn worst(verdict: &Verdict, exclusions: &[Exclusion]) -> Option<Exclusion> {
    let refusing = match verdict.outcome {
        Outcome::Blocked { rule, .. } | Outcome::Logged { rule } => Some(rule),
        Outcome::Pass => None,
    };
    let candidate = |m: &Match| Exclusion { rule: m.rule, variable: m.variable().to_owned() };
    let scoring = verdict.matches.iter().filter(|m| m.score > 0).max_by_key(|m| m.score);
    // A rule that refuses by itself, without a score.
    let own = verdict.matches.iter().find(|m| Some(m.rule) == refusing);
    scoring.or(own).map(candidate).filter(|next| !next.variable.is_empty() && !exclusions.contains(next))
}

/// The rules with the exclusions applied to their targets, in every link.
fn without(ir: &RuleSetIr, exclusions: &[Exclusion]) -> RuleSetIr {
    let mut changed = ir.clone();
    for Exclusion { rule, variable } in exclusions {
        let (name, selector) =
            variable.split_once(':').map_or((variable.as_str(), None), |(name, key)| (name, Some(key)));
        let Some(definition) = variables::find(name) else { continue };
        let roots = changed.items.iter_mut().filter_map(|item| match item {
            ItemIr::Rule(root) if root.id == *rule => Some(root),
            _ => None,
        });
        let selector = selector.map(|key| SelectorIr::Name(key.to_ascii_lowercase()));
        let excluded = TargetIr { variable: definition, selector, count: false, exclusions: Vec::new() };
        for root in roots {
            for link in
                std::iter::once(&mut root.targets).chain(root.chain.iter_mut().map(|l| &mut l.targets))
            {
                exclude(link, std::slice::from_ref(&excluded));
            }
        }
    }
    changed
}

fn describe(ir: &RuleSetIr, exclusions: &[Exclusion], request: &Request<'_>) -> String {
    let id = (FIRST_ID..).find(|id| ir.roots().all(|root| root.id != *id)).unwrap_or(FIRST_ID);
    let path = request.target.split(|byte| *byte == b'?').next().unwrap_or(&[]);
    let path = String::from_utf8_lossy(path).replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!(
        "\nto let this request pass, and nothing more than it needs:\n\n  SecRule REQUEST_FILENAME \"@streq {path}\" \\\n    \"id:{id},phase:1,pass,nolog"
    );
    // INVARIANT: writing to a `String` cannot fail.
    for Exclusion { rule, variable } in exclusions {
        let _ = write!(text, ",\\\n    ctl:ruleRemoveTargetById={rule};{variable}");
    }
    text.push_str("\"\n\nread before the rules; or, for every path and variable, these rules off in the ruleset's overrides:\n\n");
    let mut rules: Vec<u64> = exclusions.iter().map(|exclusion| exclusion.rule).collect();
    rules.dedup();
    for rule in rules {
        let id = RuleId::derived("owasp rule", &rule.to_string());
        let _ = writeln!(text, "  {{ id = \"{id}\", enabled = false }}  # {rule}");
    }
    text
}
