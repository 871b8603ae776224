//! 1 if the boundary of a multipart body has white space.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_BOUNDARY_WHITESPACE",
    summary: "1 where the boundary of a multipart body has white space.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.flag(data.message.bends(Bend::BoundaryWhitespace)));
}
