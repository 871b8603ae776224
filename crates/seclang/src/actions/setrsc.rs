//! Opens the resource collection of this key.

use super::{Definition, Lowered, text};
use crate::ir::{ActionsIr, CollectionActionIr, CollectionKind};

pub(super) const DEFINITION: Definition =
    Definition { name: "setrsc", summary: "Opens the resource collection of this key.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let key = text(value, "setrsc:%{REQUEST_COOKIES.id}")?;
    actions.collections.push(CollectionActionIr::Open { kind: CollectionKind::Resource, key });
    Ok(())
}
