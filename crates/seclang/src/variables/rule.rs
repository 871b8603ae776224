//! The rule that runs: `id`, `msg`, `severity`.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RULE",
    summary: "The rule that runs: `id`, `msg`, `severity`.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.rule.iter().for_each(|(name, value)| visit(*name, *value));
}
