//! The cookies, by name.

use super::{Definition, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_COOKIES",
    summary: "The cookies, by name.",
    collection: true,
    volatile: false,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.cookies.iter().for_each(|pair| visit(pair.key, pair.value));
}
