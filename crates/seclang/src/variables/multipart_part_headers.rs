//! The header lines of a multipart body's parts, by field.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_PART_HEADERS",
    summary: "The header lines of a multipart body's parts, by field.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.part_headers.iter().for_each(|pair| visit(pair.key, pair.value));
}
