//! Why the body could not be read; the same as `REQBODY_ERROR_MSG`.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQBODY_PROCESSOR_ERROR_MSG",
    summary: "Why the body could not be read; the same as `REQBODY_ERROR_MSG`.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.body_error_msg);
}
