//! The seconds since the Unix epoch.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "TIME_EPOCH",
    summary: "The seconds since the Unix epoch.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.moment.epoch);
}
