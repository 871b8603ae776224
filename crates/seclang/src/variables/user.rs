//! The persistent entries of this user, if `initcol` opened them.

use super::{Changes, Definition, Visit};
use crate::data::Data;
use crate::ir::CollectionKind;

pub(super) const DEFINITION: Definition = Definition {
    name: "USER",
    summary: "The persistent entries of this user, where `initcol` opened them.",
    collection: true,
    changes: Changes::WithRules,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.visit_collection(CollectionKind::User, visit);
}
