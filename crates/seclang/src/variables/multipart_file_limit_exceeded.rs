//! 1 if a multipart body has more files than the limit.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_FILE_LIMIT_EXCEEDED",
    summary: "1 where a multipart body has more files than the limit.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.flag(data.message.bends(Bend::FileLimit)));
}
