//! Sends the request elsewhere; here it is refused.

use super::{Definition, Lowered, Refusal};
use crate::ir::{ActionsIr, Disruptive};

pub(super) const DEFINITION: Definition =
    Definition { name: "proxy", summary: "Sends the request elsewhere; here it is refused.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.disruptive = Some(Disruptive::Deny);
    Err(Refusal::NoEffect("`proxy` is not supported: the request is refused with 403 instead".to_owned()))
}
