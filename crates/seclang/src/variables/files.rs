//! The file names of a multipart body, by field.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "FILES",
    summary: "The file names of a multipart body, by field.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.files.iter().for_each(|pair| visit(pair.key, pair.value));
}
