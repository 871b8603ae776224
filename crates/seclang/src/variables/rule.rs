//! The rule that runs: `id`, `msg`, `severity`.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "RULE",
    summary: "The rule that runs: `id`, `msg`, `severity`.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.rule.iter().for_each(|(name, value)| visit(*name, *value));
}
