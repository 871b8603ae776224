//! 1 where the boundary of a multipart body is quoted.

use super::{Changes, Definition, Text, Visit};
use crate::matcher::Transaction;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_BOUNDARY_QUOTED",
    summary: "1 where the boundary of a multipart body is quoted.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.flag(transaction.facts.bends(Bend::BoundaryQuoted)));
}
