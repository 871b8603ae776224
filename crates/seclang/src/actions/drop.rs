//! Refuses the request and closes the connection.

use super::{Definition, Lowered};
use crate::ir::{ActionsIr, Disruptive};

pub(super) const DEFINITION: Definition =
    Definition { name: "drop", summary: "Refuses the request and closes the connection.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.disruptive = Some(Disruptive::Drop);
    Ok(())
}
