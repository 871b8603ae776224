//! Empty here: files are never written to disk.

use super::{Changes, Definition, Visit};
use crate::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "FILES_TMPNAMES",
    summary: "Empty here: files are never written to disk.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(_: &Transaction, _: &mut Visit<'_>) {}
