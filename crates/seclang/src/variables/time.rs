//! The time of day as `hh:mm:ss`, in UTC.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "TIME",
    summary: "The time of day as `hh:mm:ss`, in UTC.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.received_time.time);
}
