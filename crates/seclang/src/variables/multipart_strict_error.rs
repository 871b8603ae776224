//! `1` if a multipart body bends the rules of RFC 7578 or RFC 2046.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;
use body::multipart::Bend;

pub(super) const DEFINITION: Definition = Definition {
    name: "MULTIPART_STRICT_ERROR",
    summary: "`1` where a multipart body bends the rules of RFC 7578 or RFC 2046.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(
        Text::EMPTY,
        data.message.flag(data.message.bends.iter().any(|bend| *bend != Bend::UnmatchedBoundary)),
    );
}
