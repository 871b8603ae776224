//! How long the rule has been in use, 1 to 9; kept by no one here.

use super::{Definition, Lowered, number};
use crate::ir::ActionsIr;

pub(super) const DEFINITION: Definition = Definition {
    name: "maturity",
    summary: "How long the rule has been in use, 1 to 9; kept by no one here.",
    lower,
};

fn lower(value: Option<&str>, _: &mut ActionsIr) -> Lowered {
    number(value, 1..=9).map(|_| ())
}
