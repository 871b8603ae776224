//! The values that the current rule matched.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "MATCHED_VARS",
    summary: "The values that the current rule matched.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.matched.iter().for_each(|matched| visit(matched.name, matched.value));
}
