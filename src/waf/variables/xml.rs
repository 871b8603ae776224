//! The text of an XML body as `/*`, and each attribute value as `//@*`.

use super::{Changes, Definition, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "XML",
    summary: "The text of an XML body as `/*`, and each attribute value as `//@*`.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.xml.iter().for_each(|pair| visit(pair.key, pair.value));
}
