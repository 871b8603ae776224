//! The rule's number, unique in the rule set.

use super::{Definition, Lowered, bad, required};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "id", summary: "The rule's number, unique in the rule set.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let text = required(value, "id:1001")?;
    match text.parse() {
        Ok(id) if id > 0 => actions.id = Some(id),
        _ => return bad(format!("expected a number above 0 as `id`, found `{text}`")),
    }
    Ok(())
}
