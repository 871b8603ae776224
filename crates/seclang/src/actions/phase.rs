//! When the rule runs: 1 to 5, `request`, `response` or `logging`.

use super::{Definition, Lowered, Phase, bad, required};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition {
    name: "phase",
    summary: "When the rule runs: 1 to 5, `request`, `response` or `logging`.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let text = required(value, "phase:2")?;
    match Phase::parse(text) {
        Some(phase) => actions.phase = Some(phase),
        None => {
            return bad(format!(
                "expected `phase` 1 to 5, `request`, `response` or `logging`, found `{text}`"
            ));
        }
    }
    Ok(())
}
