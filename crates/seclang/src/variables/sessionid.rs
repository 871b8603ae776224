//! The key that `setsid` gave.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "SESSIONID",
    summary: "The key that `setsid` gave.",
    collection: false,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.session_id);
}
