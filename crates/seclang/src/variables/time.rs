//! The time of day as `hh:mm:ss`, in UTC.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "TIME",
    summary: "The time of day as `hh:mm:ss`, in UTC.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.moment.time);
}
