//! The names of the response's header fields.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_HEADERS_NAMES",
    summary: "The names of the response's header fields.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.response_headers.iter().for_each(|pair| visit(pair.key, pair.key));
}
