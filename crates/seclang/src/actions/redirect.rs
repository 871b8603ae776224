//! Answers with a redirect to an address, with 302 or a `status` of 301, 303, 307 or 308.

use super::{Definition, Lowered, text};
use crate::ir::{ActionsIr, Disruptive};

pub(super) const DEFINITION: Definition = Definition {
    name: "redirect",
    summary: "Answers with a redirect to an address, with 302 or a `status` of 301, 303, 307 or 308.",
    lower,
};

fn lower(value: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.redirect = Some(text(value, "redirect:'https://www.example.com/blocked'")?);
    actions.disruptive = Some(Disruptive::Deny);
    Ok(())
}
