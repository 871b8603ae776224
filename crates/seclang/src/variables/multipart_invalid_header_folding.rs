//! 1 if a part header of a multipart body is folded wrongly.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_INVALID_HEADER_FOLDING",
    summary: "1 where a part header of a multipart body is folded wrongly.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.flag(data.message.bends(Bend::InvalidHeaderFolding)));
}
