//! Lets a number of a persistent collection fade.

use super::{Definition, Lowered, Refusal};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "deprecatevar", summary: "Lets a number of a persistent collection fade.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect("`deprecatevar` has no effect: use `expirevar`".to_owned()))
}
