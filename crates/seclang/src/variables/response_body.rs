//! The response body, if its media type is inspected.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_BODY",
    summary: "The response body, where its media type is inspected.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.response_body);
}
