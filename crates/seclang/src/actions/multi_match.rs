//! Looks at the value after every transformation that changed it, not only after the last.

use super::{Definition, Lowered};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition {
    name: "multiMatch",
    summary: "Looks at the value after every transformation that changed it, not only after the last.",
    lower,
};

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.multi_match = true;
    Ok(())
}
