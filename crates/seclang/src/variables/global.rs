//! The persistent entries of this whole server, if `initcol` opened them.

use super::{Changes, Definition, Visit};
use crate::data::Data;
use crate::ir::CollectionKind;

pub(super) const DEFINITION: Definition = Definition {
    name: "GLOBAL",
    summary: "The persistent entries of this whole server, where `initcol` opened them.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.visit_collection(CollectionKind::Global, visit);
}
