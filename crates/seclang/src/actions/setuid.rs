//! Opens the user collection of this key.

use super::{Definition, Lowered, text};
use crate::ir::{ActionsIr, CollectionActionIr, CollectionKind};

pub(super) const DEFINITION: Definition =
    Definition { name: "setuid", summary: "Opens the user collection of this key.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let key = text(value, "setuid:%{REQUEST_COOKIES.id}")?;
    actions.collections.push(CollectionActionIr::Open { kind: CollectionKind::User, key });
    Ok(())
}
