//! The address that the client connected to.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "SERVER_ADDR",
    summary: "The address that the client connected to.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.server_addr);
}
