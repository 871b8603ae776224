//! What a match means, in words; macros are expanded.

use super::{Definition, Lowered, text};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "msg", summary: "What a match means, in words; macros are expanded.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.msg = text(value, "msg:'SQL injection'")?;
    Ok(())
}
