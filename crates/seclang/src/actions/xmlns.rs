//! Names an XML namespace: `prefix=address`.

use super::{Definition, Lowered, bad, required};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition =
    Definition { name: "xmlns", summary: "Names an XML namespace: `prefix=address`.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let text = required(value, "xmlns:soap=http://www.w3.org/2003/05/soap-envelope")?;
    match text.split_once('=') {
        Some((prefix, address)) if !prefix.is_empty() && !address.is_empty() => {
            actions.namespaces.push((prefix.to_owned(), address.trim_matches(['\'', '"']).to_owned()));
            Ok(())
        }
        _ => bad(format!("expected `prefix=address`, found `{text}`")),
    }
}
