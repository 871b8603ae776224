//! Sets `tx.name=value`, adds `=+1`, subtracts `=-1` or removes `!tx.name`; macros are expanded.

use super::{Definition, Lowered, Macro, Refusal, bad, required};
use crate::ir::{ActionsIr, Change, CollectionActionIr, CollectionKind, SetVariableIr};

pub(super) const DEFINITION: Definition = Definition {
    name: "setvar",
    summary: "Sets `tx.name=value`, adds `=+1`, subtracts `=-1` or removes `!tx.name`; macros are expanded.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let whole = required(value, "setvar:'tx.score=+5'")?;
    let (removes, whole) = whole.strip_prefix('!').map_or((false, whole), |rest| (true, rest));
    let (target, value) = match whole.split_once('=') {
        _ if removes => (whole, ""),
        Some((target, value)) => (target, value),
        // A name alone sets it to 1.
        None => (whole, "1"),
    };
    let Some((word, name)) = target.trim().split_once(['.', ':']) else {
        return bad(format!("expected `tx.name=value`, found `{whole}`"));
    };
    let Some(collection) = CollectionKind::parse(word) else {
        return bad(format!(
            "expected `tx`, `ip`, `global`, `session`, `user` or `resource`, found `{word}`"
        ));
    };
    let (change, value) = match (removes, value.chars().next()) {
        (true, _) => (Change::Unset, ""),
        (false, Some('+')) => (Change::Add, value.get(1..).unwrap_or("")),
        (false, Some('-')) => (Change::Subtract, value.get(1..).unwrap_or("")),
        (false, _) => (Change::Set, value),
    };
    let name = Macro::parse(name.trim()).map_err(Refusal::Bad)?;
    let value = Macro::parse(value).map_err(Refusal::Bad)?;
    actions.collections.push(CollectionActionIr::Set(SetVariableIr { collection, name, change, value }));
    Ok(())
}
