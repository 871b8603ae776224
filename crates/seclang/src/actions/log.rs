//! Reports a match.

use super::{Definition, Lowered};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition { name: "log", summary: "Reports a match.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.log = Some(true);
    Ok(())
}
