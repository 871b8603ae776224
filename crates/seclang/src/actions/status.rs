//! The status that `deny` answers with.

use super::{Definition, Lowered, number};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "status", summary: "The status that `deny` answers with.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.status = Some(number(value, 100..=599)?);
    Ok(())
}
