//! 1 if a line of a multipart body looks like another boundary.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_UNMATCHED_BOUNDARY",
    summary: "1 where a line of a multipart body looks like another boundary.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.flag(data.message.bends(Bend::UnmatchedBoundary)));
}
