//! Protocol and status of the response.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "STATUS_LINE",
    summary: "Protocol and status of the response.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.status_line);
}
