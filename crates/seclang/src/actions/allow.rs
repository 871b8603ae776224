//! Lets the request pass the rules that remain: all, those of this `phase`, or of the `request`.

use super::{Definition, Lowered, bad};
use crate::ir::{ActionsIr, AllowScope, Disruptive};

pub(super) const DEFINITION: Definition = Definition {
    name: "allow",
    summary: "Lets the request pass the rules that remain: all, those of this `phase`, or of the `request`.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    let scope = match value {
        None => AllowScope::Transaction,
        Some("phase") => AllowScope::Phase,
        Some("request") => AllowScope::Request,
        Some(other) => {
            return bad(format!("expected `allow`, `allow:phase` or `allow:request`, found `{other}`"));
        }
    };
    actions.disruptive = Some(Disruptive::Allow(scope));
    Ok(())
}
