//! 1 if a parameter of a multipart body lacks its semicolon.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_SEMICOLON_MISSING",
    summary: "1 where a parameter of a multipart body lacks its semicolon.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.flag(data.message.bends(Bend::SemicolonMissing)));
}
