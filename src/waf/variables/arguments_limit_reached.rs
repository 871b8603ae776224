//! 1 where there were more arguments than the limit.

use super::{Definition, Text, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGUMENTS_LIMIT_REACHED",
    summary: "1 where there were more arguments than the limit.",
    collection: false,
    volatile: false,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.flag(transaction.facts.too_many_arguments));
}
