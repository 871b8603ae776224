//! 1 where text precedes the first boundary of a multipart body.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_DATA_BEFORE",
    summary: "1 where text precedes the first boundary of a multipart body.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.flag(transaction.facts.bends(Bend::TextBefore)));
}
