//! 1 where a multipart body has more files than the limit.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_FILE_LIMIT_EXCEEDED",
    summary: "1 where a multipart body has more files than the limit.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.flag(transaction.facts.bends(Bend::FileLimit)));
}
