//! Opens a persistent collection: `ip=%{REMOTE_ADDR}`.

use super::{Definition, Lowered, Macro, Refusal, bad, required};
use crate::ir::{ActionsIr, CollectionActionIr, CollectionKind};

pub(super) const DEFINITION: Definition =
    Definition { name: "initcol", summary: "Opens a persistent collection: `ip=%{REMOTE_ADDR}`.", lower };

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let text = required(value, "initcol:ip=%{REMOTE_ADDR}")?;
    let parts = text.split_once('=').and_then(|(name, key)| Some((CollectionKind::parse(name.trim())?, key)));
    let Some((kind, key)) = parts.filter(|(kind, _)| *kind != CollectionKind::Tx) else {
        return bad(format!(
            "expected one of `ip`, `global`, `session`, `user` and `resource` with a key, found `{text}`"
        ));
    };
    let key = Macro::parse(key.trim()).map_err(Refusal::Bad)?;
    actions.collections.push(CollectionActionIr::Open { kind, key });
    Ok(())
}
