//! 1 where the boundary of a multipart body is quoted.

use super::{Definition, Text, Visit};
use crate::body::multipart::Bend;
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_BOUNDARY_QUOTED",
    summary: "1 where the boundary of a multipart body is quoted.",
    collection: false,
    volatile: false,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.facts.flag(transaction.facts.bends(Bend::BoundaryQuoted)));
}
