//! The names of the cookies.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_COOKIES_NAMES",
    summary: "The names of the cookies.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.cookies.iter().for_each(|pair| visit(pair.key, pair.key));
}
