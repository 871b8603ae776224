//! What applications read that is no argument: `body`, a body that is text; `xml`, the texts of elements and the values of
//! attributes; `path`, the parts of the path that are no plain names.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_TEXTS",
    summary: "What applications read that is no argument: `body`, `xml` and `path`.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.texts.iter().for_each(|pair| visit(pair.key, pair.value));
}
