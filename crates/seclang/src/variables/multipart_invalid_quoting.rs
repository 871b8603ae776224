//! 1 if a parameter of a multipart body is quoted wrongly.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_INVALID_QUOTING",
    summary: "1 where a parameter of a multipart body is quoted wrongly.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.flag(data.message.bends(Bend::InvalidQuoting)));
}
