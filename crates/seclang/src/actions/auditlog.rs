//! Marks the transaction for the audit record.

use super::{Definition, Lowered};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "auditlog", summary: "Marks the transaction for the audit record.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.audit_log = Some(true);
    Ok(())
}
