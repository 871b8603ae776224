//! The field names of a multipart body's files.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "FILES_NAMES",
    summary: "The field names of a multipart body's files.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.files.iter().for_each(|pair| visit(pair.key, pair.key));
}
