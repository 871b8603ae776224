//! The names of the request's header fields.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_HEADERS_NAMES",
    summary: "The names of the request's header fields.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.headers.iter().for_each(|pair| visit(pair.key, pair.key));
}
