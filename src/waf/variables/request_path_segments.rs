//! The parts of the path between slashes, decoded; none where all are plain names.

use super::{Changes, Definition, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_PATH_SEGMENTS",
    summary: "The parts of the path between slashes, decoded; none where all are plain names.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    transaction.facts.path_segments.iter().for_each(|pair| visit(pair.key, pair.value));
}
