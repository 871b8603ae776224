//! The names of the request's header fields.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_HEADERS_NAMES",
    summary: "The names of the request's header fields.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.headers.iter().for_each(|pair| visit(pair.key, pair.key));
}
