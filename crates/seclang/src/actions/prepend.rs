//! Puts a text before the response.

use super::{Definition, Lowered, Refusal};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "prepend", summary: "Puts a text before the response.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect("`prepend` has no effect: responses are not changed".to_owned()))
}
