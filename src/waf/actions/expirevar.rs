//! Gives an entry of a persistent collection a lifetime.

use super::{Definition, Lowered, Refusal};
use crate::waf::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "expirevar", summary: "Gives an entry of a persistent collection a lifetime.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect("`expirevar` has no effect: persistent collections do not exist yet".to_owned()))
}
