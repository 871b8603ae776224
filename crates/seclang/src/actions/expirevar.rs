//! Gives an entry of a persistent collection a lifetime in seconds: `ip.blocked=60`.

use super::{Definition, Lowered, Macro, Refusal, bad, required};
use crate::ir::{ActionsIr, CollectionActionIr, CollectionKind};

pub(super) const DEFINITION: Definition = Definition {
    name: "expirevar",
    summary: "Gives an entry of a persistent collection a lifetime in seconds: `ip.blocked=60`.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let text = required(value, "expirevar:'ip.blocked=60'")?;
    let parts = text.split_once('=').and_then(|(target, seconds)| {
        let (kind, name) = target.trim().split_once(['.', ':'])?;
        Some((CollectionKind::parse(kind)?, name, seconds))
    });
    let Some((kind, name, seconds)) = parts else {
        return bad(format!("expected `collection.name=seconds`, found `{text}`"));
    };
    let (name, seconds) =
        (Macro::parse(name).map_err(Refusal::Bad)?, Macro::parse(seconds.trim()).map_err(Refusal::Bad)?);
    actions.collections.push(CollectionActionIr::Expire { kind, name, seconds });
    Ok(())
}
