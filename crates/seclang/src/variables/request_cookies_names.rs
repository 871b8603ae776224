//! The names of the cookies.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_COOKIES_NAMES",
    summary: "The names of the cookies.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.cookies.iter().for_each(|pair| visit(pair.key, pair.key));
}
