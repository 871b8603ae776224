//! 1 where a line of a multipart body looks like another boundary.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_UNMATCHED_BOUNDARY",
    summary: "1 where a line of a multipart body looks like another boundary.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.flag(transaction.facts.bends(Bend::UnmatchedBoundary)));
}
