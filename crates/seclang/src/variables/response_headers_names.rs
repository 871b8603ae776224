//! The names of the response's header fields.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_HEADERS_NAMES",
    summary: "The names of the response's header fields.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.response_headers.iter().for_each(|pair| visit(pair.key, pair.key));
}
