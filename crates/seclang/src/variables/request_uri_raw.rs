//! The request target as sent, with scheme and host if it has them.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_URI_RAW",
    summary: "The request target as sent, with scheme and host where it has them.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.uri_raw);
}
