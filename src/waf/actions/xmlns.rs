//! Names an XML namespace: `prefix=address`.

use super::{Definition, Lowered, Refusal, bad, required};
use crate::waf::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "xmlns", summary: "Names an XML namespace: `prefix=address`.", lower };

fn lower(value: Option<&str>, _: &mut ActionsIr) -> Lowered {
    let text = required(value, "xmlns:soap=http://www.w3.org/2003/05/soap-envelope")?;
    if !text.split_once('=').is_some_and(|(prefix, address)| !prefix.is_empty() && !address.is_empty()) {
        return bad(format!("expected `prefix=address`, found `{text}`"));
    }
    Err(Refusal::NoEffect("`xmlns` has no effect: XPath knows only `/*` and `//@*` here".to_owned()))
}
