//! Empty here: files are never written to disk.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "FILES_TMPNAMES",
    summary: "Empty here: files are never written to disk.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(_: &Data, _: &mut Visit<'_>) {}
