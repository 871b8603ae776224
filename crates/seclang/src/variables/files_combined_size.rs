//! The bytes of all files of a multipart body together.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "FILES_COMBINED_SIZE",
    summary: "The bytes of all files of a multipart body together.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.files_combined_size);
}
