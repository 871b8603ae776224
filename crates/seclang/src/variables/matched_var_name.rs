//! The name of what matched last, as `ARGS:q`.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "MATCHED_VAR_NAME",
    summary: "The name of what matched last, as `ARGS:q`.",
    collection: false,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    if let Some(last) = data.matched.last() {
        visit(Text::EMPTY, last.name);
    }
}
