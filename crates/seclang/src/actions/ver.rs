//! The version of the rule set the rule is from.

use super::{Definition, Lowered, required};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "ver", summary: "The version of the rule set the rule is from.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    required(value, "ver:'1.0'")?.clone_into(&mut actions.version);
    Ok(())
}
