//! Goes on after the `SecMarker` of this name, within the phase.

use super::{Definition, Lowered, required};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition {
    name: "skipAfter",
    summary: "Goes on after the `SecMarker` of this name, within the phase.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.skip_after = Some(required(value, "skipAfter:END-SQLI")?.to_owned());
    Ok(())
}
