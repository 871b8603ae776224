//! The file names of the parts of a multipart body, as sent.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_FILENAME",
    summary: "The file names of the parts of a multipart body, as sent.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.files.iter().for_each(|pair| visit(pair.key, pair.value));
}
