//! Leaves out so many rules of the phase.

use super::{Definition, Lowered, number};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "skip", summary: "Leaves out so many rules of the phase.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.skip = usize::from(number(value, 1..=u16::MAX)?);
    Ok(())
}
