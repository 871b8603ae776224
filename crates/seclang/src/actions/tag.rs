//! A category of the rule.

use super::{Definition, Lowered, required};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "tag", summary: "A category of the rule.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.tags.push(required(value, "tag:'attack-sqli'")?.to_owned());
    Ok(())
}
