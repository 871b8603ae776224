//! The bytes of all argument names and values together.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS_COMBINED_SIZE",
    summary: "The bytes of all argument names and values together.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.args_combined_size);
}
