//! Makes the client wait.

use super::{Definition, Lowered, Refusal};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "pause", summary: "Makes the client wait.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect("`pause` has no effect: use rate limits in front".to_owned()))
}
