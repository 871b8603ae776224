//! Which reader took the body: `URLENCODED`, `MULTIPART`, `JSON` or nothing.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQBODY_PROCESSOR",
    summary: "Which reader took the body: `URLENCODED`, `MULTIPART`, `JSON` or nothing.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.processor);
}
