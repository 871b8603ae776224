//! Opens the session collection of this key.

use super::{Definition, Lowered, text};
use crate::ir::{ActionsIr, CollectionActionIr, CollectionKind};

pub(super) const DEFINITION: Definition =
    Definition { name: "setsid", summary: "Opens the session collection of this key.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let key = text(value, "setsid:%{REQUEST_COOKIES.id}")?;
    actions.collections.push(CollectionActionIr::Open { kind: CollectionKind::Session, key });
    Ok(())
}
