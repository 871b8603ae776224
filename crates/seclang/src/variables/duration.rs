//! Milliseconds since the request came; 0 here, for rules run at once when it is there.

use super::{Changes, Definition, Text, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "DURATION",
    summary: "Milliseconds since the request came; 0 here, for rules run at once when it is there.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, data.message.zero);
}
