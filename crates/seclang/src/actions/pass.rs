//! Goes on with the next rule.

use super::{Definition, Lowered};
use crate::ir::{ActionsIr, Disruptive};

pub(super) const DEFINITION: Definition =
    Definition { name: "pass", summary: "Goes on with the next rule.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.disruptive = Some(Disruptive::Pass);
    Ok(())
}
