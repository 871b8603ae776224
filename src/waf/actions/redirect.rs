//! Redirects the client; here the request is refused.

use super::{Definition, Lowered, Refusal};
use crate::waf::ir::{ActionsIr, Disruptive};

pub(super) const DEFINITION: Definition =
    Definition { name: "redirect", summary: "Redirects the client; here the request is refused.", lower };

fn lower(_: Option<&str>, actions: &mut ActionsIr) -> Lowered {
    actions.disruptive = Some(Disruptive::Deny);
    Err(Refusal::NoEffect("`redirect` is not supported: the request is refused with 403 instead".to_owned()))
}
