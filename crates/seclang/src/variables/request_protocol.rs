//! The protocol, as `HTTP/1.1`.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_PROTOCOL",
    summary: "The protocol, as `HTTP/1.1`.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.protocol);
}
