//! The response's header fields, by name.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_HEADERS",
    summary: "The response's header fields, by name.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.response_headers.iter().for_each(|pair| visit(pair.key, pair.value));
}
