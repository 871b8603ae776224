//! The revision of the rule.

use super::{Definition, Lowered, required};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "rev", summary: "The revision of the rule.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    required(value, "rev:'2'")?.clone_into(&mut actions.revision);
    Ok(())
}
