//! What `setenv` set for this data.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ENV",
    summary: "What `setenv` set for this data.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.env.iter().for_each(|(name, value)| visit(*name, *value));
}
