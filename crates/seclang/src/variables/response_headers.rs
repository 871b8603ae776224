//! The response's header fields, by name.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_HEADERS",
    summary: "The response's header fields, by name.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.response_headers.iter().for_each(|pair| visit(pair.key, pair.value));
}
