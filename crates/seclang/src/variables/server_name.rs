//! The host that the request is for, without its port.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "SERVER_NAME",
    summary: "The host that the request is for, without its port.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.server_name);
}
