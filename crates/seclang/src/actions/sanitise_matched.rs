//! Hides what matched in the audit log.

use super::{Definition, Lowered, Refusal};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "sanitiseMatched", summary: "Hides what matched in the audit log.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect(
        "`sanitiseMatched` has no effect: leave parts `C`, `I` and `H` out of `SecAuditLogParts`".to_owned(),
    ))
}
