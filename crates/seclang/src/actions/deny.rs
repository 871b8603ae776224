//! Refuses the request with `status`, by default 403.

use super::{Definition, Lowered};
use crate::ir::{ActionsIr, Disruptive};

pub(super) const DEFINITION: Definition =
    Definition { name: "deny", summary: "Refuses the request with `status`, by default 403.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.disruptive = Some(Disruptive::Deny);
    Ok(())
}
