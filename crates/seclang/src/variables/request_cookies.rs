//! The cookies, by name.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_COOKIES",
    summary: "The cookies, by name.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.cookies.iter().for_each(|pair| visit(pair.key, pair.value));
}
