//! What `setenv` set for this transaction.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "ENV",
    summary: "What `setenv` set for this transaction.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.env.iter().for_each(|(name, value)| visit(*name, *value));
}
