//! Names an XML namespace.

use super::{Definition, Lowered, Refusal};
use crate::waf::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "xmlns", summary: "Names an XML namespace.", lower };

fn lower(_: Option<&str>, _: &mut ActionsIr) -> Lowered {
    Err(Refusal::NoEffect("`xmlns` has no effect: XPath knows only `/*` and `//@*` here".to_owned()))
}
