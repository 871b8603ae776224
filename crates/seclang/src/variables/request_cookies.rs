//! The cookies, by name.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_COOKIES",
    summary: "The cookies, by name.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.cookies.iter().for_each(|pair| visit(pair.key, pair.value));
}
