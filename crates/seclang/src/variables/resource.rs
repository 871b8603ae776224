//! The persistent entries of this resource, where `initcol` opened them.

use super::{Changes, Definition, Visit};
use crate::ir::CollectionKind;
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESOURCE",
    summary: "The persistent entries of this resource, where `initcol` opened them.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.visit_collection(CollectionKind::Resource, visit);
}
