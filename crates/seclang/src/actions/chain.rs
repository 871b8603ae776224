//! Asks the next rule to match too.

use super::{Definition, Lowered};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "chain", summary: "Asks the next rule to match too.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.chain = true;
    Ok(())
}
