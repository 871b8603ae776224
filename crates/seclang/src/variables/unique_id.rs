//! The request id.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "UNIQUE_ID",
    summary: "The request id.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.unique_id);
}
