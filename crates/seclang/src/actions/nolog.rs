//! Does not report a match.

use super::{Definition, Lowered};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "nolog", summary: "Does not report a match.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.log = Some(false);
    actions.audit_log = Some(false);
    Ok(())
}
