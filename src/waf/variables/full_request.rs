//! The request line, the header fields and the body.

use super::{Definition, Text, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "FULL_REQUEST",
    summary: "The request line, the header fields and the body.",
    collection: false,
    volatile: false,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.full_request);
}
