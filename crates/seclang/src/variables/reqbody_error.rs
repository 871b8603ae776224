//! `1` if the body could not be read as what it says it is, or passed a limit.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQBODY_ERROR",
    summary: "`1` where the body could not be read as what it says it is, or passed a limit.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.body_error);
}
