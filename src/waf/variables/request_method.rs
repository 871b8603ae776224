//! The method.

use super::{Definition, Text, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition =
    Definition { name: "REQUEST_METHOD", summary: "The method.", collection: false, volatile: false, values };

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.method);
}
