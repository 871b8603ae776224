//! 1 if the body could not be read; the same as `REQBODY_ERROR`.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQBODY_PROCESSOR_ERROR",
    summary: "1 where the body could not be read; the same as `REQBODY_ERROR`.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.body_error);
}
