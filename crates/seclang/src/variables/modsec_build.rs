//! A version number for rules that ask for one; always 0.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "MODSEC_BUILD",
    summary: "A version number for rules that ask for one; always 0.",
    collection: false,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.zero);
}
