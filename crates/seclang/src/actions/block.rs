//! Does what `SecDefaultAction` of the phase says.

use super::{Definition, Lowered};
use crate::ir::{ActionsIr, Disruptive};

pub(super) const DEFINITION: Definition =
    Definition { name: "block", summary: "Does what `SecDefaultAction` of the phase says.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.disruptive = Some(Disruptive::Block);
    Ok(())
}
