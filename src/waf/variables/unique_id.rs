//! The request id.

use super::{Definition, Text, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition =
    Definition { name: "UNIQUE_ID", summary: "The request id.", collection: false, volatile: false, values };

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.unique_id);
}
