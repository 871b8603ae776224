//! The name of the application; empty here, for zones part applications.

use super::{Changes, Definition, Text, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "WEBAPPID",
    summary: "The name of the application; empty here, for zones part applications.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(_: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, Text::EMPTY);
}
