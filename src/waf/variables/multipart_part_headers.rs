//! The header lines of a multipart body's parts, by field.

use super::{Definition, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_PART_HEADERS",
    summary: "The header lines of a multipart body's parts, by field.",
    collection: true,
    volatile: false,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.part_headers.iter().for_each(|pair| visit(pair.key, pair.value));
}
