//! Runs a program.

use super::{Definition, Lowered, Refusal};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition { name: "exec", summary: "Runs a program.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect("`exec` has no effect: programs are never run".to_owned()))
}
