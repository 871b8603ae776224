//! Keeps the operator's match and groups as `TX:0` … `TX:9`.

use super::{Definition, Lowered};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition {
    name: "capture",
    summary: "Keeps the operator's match and groups as `TX:0` … `TX:9`.",
    lower,
};

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.capture = true;
    Ok(())
}
