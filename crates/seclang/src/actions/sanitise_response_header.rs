//! Hides a response header in the audit log.

use super::{Definition, Lowered, Refusal};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition {
    name: "sanitiseResponseHeader",
    summary: "Hides a response header in the audit log.",
    lower,
};

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect(
        "`sanitiseResponseHeader` has no effect: leave part `F` out of `SecAuditLogParts`".to_owned(),
    ))
}
