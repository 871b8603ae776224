//! Hides a request header in the audit log.

use super::{Definition, Lowered, Refusal};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "sanitiseRequestHeader", summary: "Hides a request header in the audit log.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect(
        "`sanitiseRequestHeader` has no effect: leave part `B` out of `SecAuditLogParts`".to_owned(),
    ))
}
