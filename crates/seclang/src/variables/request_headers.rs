//! The request's header fields, by name.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_HEADERS",
    summary: "The request's header fields, by name.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.headers.iter().for_each(|pair| visit(pair.key, pair.value));
}
