//! The narrowest exclusion that lets a request pass: for each rule that must give way, the one
//! variable that it matched, on the path of the request.

use std::fmt::Write;
use std::sync::Arc;

use super::{Request, judge};
use crate::cli::deployment::Deployment;
use crate::cli::exclusion::{self, Exclusion, without};
use crate::ruleset::{ManagedRuleset, Outcome, Verdict};
use model::Phase;
use seclang::Match;
use seclang::ir::RuleSetIr;
use serde_json::json;

/// Most exclusions that are tried one after the other.
const MAX_EXCLUSIONS: usize = 50;
/// The text of a suggestion; `None` if the request passes as it is, or no exclusion helps.
pub(super) fn suggest(ir: &RuleSetIr, deployment: Deployment, request: &Request<'_>) -> Option<String> {
    let verdict = |exclusions: &[Exclusion]| {
        let program = Arc::new(seclang::optimize(&without(ir, exclusions)));
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
    let decided = verdict.outcome.rule();
    let candidate = |m: &Match| Exclusion { rule: m.rule, variable: m.variable().to_owned() };
    let scoring = verdict.matches.iter().filter(|m| m.score > 0).max_by_key(|m| m.score);
    // A rule that refuses by itself, without a score.
    let own = verdict.matches.iter().find(|m| decided.is_some_and(|rule| rule.is_of(m)));
    scoring.or(own).map(candidate).filter(|next| !next.variable.is_empty() && !exclusions.contains(next))
}

fn describe(ir: &RuleSetIr, exclusions: &[Exclusion], request: &Request<'_>) -> String {
    let path = request.target.split(|byte| *byte == b'?').next().unwrap_or(&[]);
    let rule = exclusion::on_path(&String::from_utf8_lossy(path), exclusion::free_id(ir, 0), exclusions);
    let mut text = format!("\nto let this request pass, and nothing more than it needs:\n\n{rule}");
    let mut rules: Vec<u64> = exclusions.iter().map(|exclusion| exclusion.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    // INVARIANT: writing to a `String` cannot fail.
    let _ = writeln!(
        text,
        "\nread before the rules; or, for every variable on this path, this rule before the `execute` rule of the phase \
         `{}`, or in any phase before it:\n\n  {}\n",
        Phase::HttpRequestFirewallManaged.word(),
        skip_rule(path, &rules)
    );
    text.push_str("or, for every path and variable, these rules off in the ruleset's overrides:\n\n");
    for rule in rules {
        let id = ManagedRuleset::rule_id(rule);
        let _ = writeln!(text, "  {{ id = \"{id}\", enabled = false }}  # {rule}");
    }
    text
}

/// A rule of an entry point that passes over managed rules on a path, as the API takes it.
fn skip_rule(path: &[u8], rules: &[u64]) -> serde_json::Value {
    let mut quoted = String::new();
    for byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => quoted.push(char::from(*byte)),
            _ => {
                // INVARIANT: writing to a `String` cannot fail.
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    let ids: Vec<String> = rules.iter().map(|rule| ManagedRuleset::rule_id(*rule).to_string()).collect();
    json!({
        "action": "skip",
        "expression": format!("raw.http.request.uri.path eq \"{quoted}\""),
        "action_parameters": {"rules": {ManagedRuleset::owasp_id().as_str(): ids}},
    })
}
