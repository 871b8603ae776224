//! The path of the request; origins know what part of it is theirs.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "PATH_INFO",
    summary: "The path of the request; origins know what part of it is theirs.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.filename);
}
