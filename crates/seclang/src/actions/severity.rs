//! How bad a match is: `EMERGENCY` (0) to `DEBUG` (7), by word or number.

use super::{Definition, Lowered, SEVERITIES, bad, required};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition {
    name: "severity",
    summary: "How bad a match is: `EMERGENCY` (0) to `DEBUG` (7), by word or number.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let text = required(value, "severity:'CRITICAL'")?;
    let by_word = SEVERITIES.iter().position(|word| word.eq_ignore_ascii_case(text));
    let index = by_word.or_else(|| text.parse().ok().filter(|n| *n < SEVERITIES.len()));
    match index.and_then(|n| u8::try_from(n).ok()) {
        Some(severity) => actions.severity = Some(severity),
        None => return bad(format!("expected a `severity` of {}, found `{text}`", SEVERITIES.join(", "))),
    }
    Ok(())
}
