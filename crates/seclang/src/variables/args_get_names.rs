//! The names of the query's arguments.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS_GET_NAMES",
    summary: "The names of the query's arguments.",
    collection: true,
    changes: Changes::Never,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.args_get.iter().for_each(|pair| visit(pair.key, pair.key));
}
