//! What to add to the report of a match; macros are expanded.

use super::{Definition, Lowered, text};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition {
    name: "logdata",
    summary: "What to add to the report of a match; macros are expanded.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.logdata = text(value, "logdata:'Matched %{MATCHED_VAR}'")?;
    Ok(())
}
