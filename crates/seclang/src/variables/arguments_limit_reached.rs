//! 1 where there were more arguments than the limit.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGUMENTS_LIMIT_REACHED",
    summary: "1 where there were more arguments than the limit.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.flag(transaction.facts.too_many_arguments));
}
