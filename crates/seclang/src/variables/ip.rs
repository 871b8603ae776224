//! The persistent entries of this client address, if `initcol` opened them.

use super::{Changes, Definition, Visit};
use crate::data::Data;
use crate::ir::CollectionKind;

pub(super) const DEFINITION: Definition = Definition {
    name: "IP",
    summary: "The persistent entries of this client address, where `initcol` opened them.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.visit_collection(CollectionKind::Ip, visit);
}
