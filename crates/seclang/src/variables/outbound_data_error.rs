//! 1 if the response body is longer than what is inspected.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "OUTBOUND_DATA_ERROR",
    summary: "1 where the response body is longer than what is inspected.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.outbound_data_error);
}
