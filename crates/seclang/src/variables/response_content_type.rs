//! The media type of the response with its parameters.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_CONTENT_TYPE",
    summary: "The media type of the response with its parameters.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.response_content_type());
}
