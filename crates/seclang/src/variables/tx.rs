//! What rules set for this transaction, and the groups of the last capture as `0` … `9`.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "TX",
    summary: "What rules set for this transaction, and the groups of the last capture as `0` … `9`.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.visit_tx(visit);
}
