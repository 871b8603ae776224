//! The response body, where its media type is inspected.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_BODY",
    summary: "The response body, where its media type is inspected.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.response_body);
}
