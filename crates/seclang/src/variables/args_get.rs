//! The arguments of the query, decoded.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS_GET",
    summary: "The arguments of the query, decoded.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.args_get.iter().for_each(|pair| visit(pair.key, pair.value));
}
