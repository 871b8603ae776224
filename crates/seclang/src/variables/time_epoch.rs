//! The seconds since the Unix epoch.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "TIME_EPOCH",
    summary: "The seconds since the Unix epoch.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.received_time.epoch);
}
