//! 1 where a parameter of a multipart body lacks its semicolon.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_SEMICOLON_MISSING",
    summary: "1 where a parameter of a multipart body lacks its semicolon.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.flag(transaction.facts.bends(Bend::SemicolonMissing)));
}
