//! The length of the inspected response body in bytes.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_CONTENT_LENGTH",
    summary: "The length of the inspected response body in bytes.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.response_length);
}
