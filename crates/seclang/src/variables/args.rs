//! Every argument of the query and the body, decoded.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS",
    summary: "Every argument of the query and the body, decoded.",
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
        .for_each(|pair| visit(pair.key, pair.value));
}
