//! The names of the parts of a multipart body.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_NAME",
    summary: "The names of the parts of a multipart body.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.part_names.iter().for_each(|name| visit(*name, *name));
}
