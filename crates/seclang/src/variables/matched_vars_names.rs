//! The names of what the current rule matched.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "MATCHED_VARS_NAMES",
    summary: "The names of what the current rule matched.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.matched.iter().for_each(|matched| visit(matched.name, matched.name));
}
