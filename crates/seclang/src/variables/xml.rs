//! The text of an XML body as `/*`, each attribute value as `//@*`, and what other paths of names find.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "XML",
    summary: "The text of an XML body as `/*`, each attribute value as `//@*`, and what other paths of names find.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.xml.iter().for_each(|pair| visit(pair.key, pair.value));
}
