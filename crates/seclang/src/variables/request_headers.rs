//! The request's header fields, by name.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_HEADERS",
    summary: "The request's header fields, by name.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.headers.iter().for_each(|pair| visit(pair.key, pair.value));
}
