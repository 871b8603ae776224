//! 1 if there were more arguments than the limit.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGUMENTS_LIMIT_REACHED",
    summary: "1 where there were more arguments than the limit.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.flag(data.message.too_many_arguments));
}
