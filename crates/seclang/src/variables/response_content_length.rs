//! The length of the inspected response body in bytes.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_CONTENT_LENGTH",
    summary: "The length of the inspected response body in bytes.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.response_length);
}
