//! Opens a persistent collection.

use super::{Definition, Lowered, Refusal};
use crate::waf::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "initcol", summary: "Opens a persistent collection.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect("`initcol` has no effect: persistent collections do not exist yet".to_owned()))
}
