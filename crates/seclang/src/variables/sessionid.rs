//! The key that `setsid` gave.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "SESSIONID",
    summary: "The key that `setsid` gave.",
    collection: false,
    changes: Changes::WithRules,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.session_id);
}
