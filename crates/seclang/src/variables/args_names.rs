//! The names of all arguments.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS_NAMES",
    summary: "The names of all arguments.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction
        .facts
        .args_get
        .iter()
        .chain(&transaction.facts.args_post)
        .for_each(|pair| visit(pair.key, pair.key));
}
