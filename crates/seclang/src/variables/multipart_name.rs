//! The names of the parts of a multipart body.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_NAME",
    summary: "The names of the parts of a multipart body.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.part_names.iter().for_each(|name| visit(*name, *name));
}
