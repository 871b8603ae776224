//! The number of the worst severity that has matched; 255 before any has.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "HIGHEST_SEVERITY",
    summary: "The number of the worst severity that has matched; 255 before any has.",
    collection: false,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.highest_severity);
}
