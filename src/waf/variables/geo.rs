//! Where the client is; empty here, for there is no geographic database.

use super::{Changes, Definition, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "GEO",
    summary: "Where the client is; empty here, for there is no geographic database.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(_: &Transaction, _: &mut Visit<'_>) {}
