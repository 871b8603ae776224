//! What rules set for this data, and the groups of the last capture as `0` … `9`.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "TX",
    summary: "What rules set for this data, and the groups of the last capture as `0` … `9`.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.visit_tx(visit);
}
