//! The client's address.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "REMOTE_ADDR",
    summary: "The client's address.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.remote_addr);
}
