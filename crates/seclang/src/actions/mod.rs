//! The actions a rule may list, one file each.

mod accuracy;
mod allow;
mod append;
mod auditlog;
mod block;
mod capture;
mod chain;
mod ctl;
mod deny;
mod deprecatevar;
mod drop;
mod exec;
mod expirevar;
mod id;
mod initcol;
mod log;
mod logdata;
mod maturity;
mod msg;
mod multi_match;
mod noauditlog;
mod nolog;
mod pass;
mod pause;
mod phase;
mod prepend;
mod proxy;
mod redirect;
mod rev;
mod sanitise_arg;
mod sanitise_matched;
mod sanitise_matched_bytes;
mod sanitise_request_header;
mod sanitise_response_header;
mod setenv;
mod setrsc;
mod setsid;
mod setuid;
mod setvar;
mod severity;
mod skip;
mod skip_after;
mod status;
mod t;
mod tag;
mod ver;
mod xmlns;

use std::ops::RangeInclusive;

use super::ir::ActionsIr;
use super::lower::{engine_mode, id_range, switch, transformation};
use super::macros::Macro;
use super::{Phase, SEVERITIES, variables};

/// What an action is called and what it adds to its rule.
pub struct Definition {
    pub name: &'static str,
    pub summary: &'static str,
    /// Applies the action's value to what the rule has so far.
    pub lower: fn(Option<&str>, &mut ActionsIr) -> Lowered,
}

type Lowered = Result<(), Refusal>;

/// Why an action was not applied, in one sentence.
#[derive(Debug)]
pub enum Refusal {
    /// The value is not one the action takes.
    Bad(String),
    /// The action is known but does nothing here.
    NoEffect(String),
}

/// Every action, sorted by name.
pub const ALL: &[&Definition] = &[
    &accuracy::DEFINITION,
    &allow::DEFINITION,
    &append::DEFINITION,
    &auditlog::DEFINITION,
    &block::DEFINITION,
    &capture::DEFINITION,
    &chain::DEFINITION,
    &ctl::DEFINITION,
    &deny::DEFINITION,
    &deprecatevar::DEFINITION,
    &drop::DEFINITION,
    &exec::DEFINITION,
    &expirevar::DEFINITION,
    &id::DEFINITION,
    &initcol::DEFINITION,
    &log::DEFINITION,
    &logdata::DEFINITION,
    &maturity::DEFINITION,
    &msg::DEFINITION,
    &multi_match::DEFINITION,
    &noauditlog::DEFINITION,
    &nolog::DEFINITION,
    &pass::DEFINITION,
    &pause::DEFINITION,
    &phase::DEFINITION,
    &prepend::DEFINITION,
    &proxy::DEFINITION,
    &redirect::DEFINITION,
    &rev::DEFINITION,
    &sanitise_arg::DEFINITION,
    &sanitise_matched::DEFINITION,
    &sanitise_matched_bytes::DEFINITION,
    &sanitise_request_header::DEFINITION,
    &sanitise_response_header::DEFINITION,
    &setenv::DEFINITION,
    &setrsc::DEFINITION,
    &setsid::DEFINITION,
    &setuid::DEFINITION,
    &setvar::DEFINITION,
    &severity::DEFINITION,
    &skip::DEFINITION,
    &skip_after::DEFINITION,
    &status::DEFINITION,
    &t::DEFINITION,
    &tag::DEFINITION,
    &ver::DEFINITION,
    &xmlns::DEFINITION,
];

/// The action of a name, ignoring case.
pub fn find(name: &str) -> Option<&'static Definition> {
    // American spelling of the same.
    let name = &name.replace("sanitize", "sanitise");
    ALL.iter().copied().find(|definition| definition.name.eq_ignore_ascii_case(name))
}

fn bad<T>(message: String) -> Result<T, Refusal> {
    Err(Refusal::Bad(message))
}

fn required<'v>(value: Option<&'v str>, example: &str) -> Result<&'v str, Refusal> {
    match value {
        Some(value) if !value.is_empty() => Ok(value),
        _ => bad(format!("a value is missing; expected for instance `{example}`")),
    }
}

fn text(value: Option<&str>, example: &str) -> Result<Macro, Refusal> {
    Macro::parse(required(value, example)?).map_err(Refusal::Bad)
}

fn number(value: Option<&str>, range: RangeInclusive<u16>) -> Result<u16, Refusal> {
    match value.and_then(|text| text.trim().parse().ok()) {
        Some(number) if range.contains(&number) => Ok(number),
        _ => bad(format!(
            "expected a number from {} to {}, found `{}`",
            range.start(),
            range.end(),
            value.unwrap_or("")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_unique_and_complete() {
        let names: Vec<String> = ALL.iter().map(|d| d.name.to_lowercase()).collect();
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(names, sorted);
        assert!(ALL.iter().all(|d| d.summary.ends_with('.')));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/actions");
        assert_eq!(std::fs::read_dir(folder).unwrap().count() - 1, ALL.len());
    }
}
