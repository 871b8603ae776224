//! The sizes of the files of a multipart body in bytes, by field.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "FILES_SIZES",
    summary: "The sizes of the files of a multipart body in bytes, by field.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.files_sizes.iter().for_each(|pair| visit(pair.key, pair.value));
}
