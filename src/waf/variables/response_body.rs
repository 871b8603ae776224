//! The response body, where its media type is inspected.

use super::{Definition, Text, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_BODY",
    summary: "The response body, where its media type is inspected.",
    collection: false,
    volatile: false,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.response_body);
}
