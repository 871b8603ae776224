//! `1` where the body could not be read as what it says it is, or passed a limit.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQBODY_ERROR",
    summary: "`1` where the body could not be read as what it says it is, or passed a limit.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.body_error);
}
