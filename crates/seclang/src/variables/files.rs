//! The file names of a multipart body, by field.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "FILES",
    summary: "The file names of a multipart body, by field.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.files.iter().for_each(|pair| visit(pair.key, pair.value));
}
