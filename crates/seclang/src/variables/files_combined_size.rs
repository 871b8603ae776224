//! The bytes of all files of a multipart body together.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "FILES_COMBINED_SIZE",
    summary: "The bytes of all files of a multipart body together.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.files_combined_size);
}
