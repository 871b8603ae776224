//! 1 if an escape of a form is malformed.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "URLENCODED_ERROR",
    summary: "1 where an escape of a form is malformed.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.urlencoded_error);
}
