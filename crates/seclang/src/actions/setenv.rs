//! Sets an entry of `ENV` for this transaction: `name=value`.

use super::{Definition, Lowered, Macro, Refusal, required};
use crate::ir::{ActionsIr, CollectionActionIr};

pub(super) const DEFINITION: Definition = Definition {
    name: "setenv",
    summary: "Sets an entry of `ENV` for this transaction: `name=value`.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let text = required(value, "setenv:blocked=1")?;
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let (name, value) =
        (Macro::parse(name.trim()).map_err(Refusal::Bad)?, Macro::parse(value).map_err(Refusal::Bad)?);
    actions.collections.push(CollectionActionIr::SetEnvironment { name, value });
    Ok(())
}
