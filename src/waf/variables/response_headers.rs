//! The response's header fields, by name.

use super::{Definition, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_HEADERS",
    summary: "The response's header fields, by name.",
    collection: true,
    volatile: false,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.response_headers.iter().for_each(|pair| visit(pair.key, pair.value));
}
