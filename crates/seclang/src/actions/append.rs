//! Appends a text to the response.

use super::{Definition, Lowered, Refusal};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "append", summary: "Appends a text to the response.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect("`append` has no effect: responses are not changed".to_owned()))
}
