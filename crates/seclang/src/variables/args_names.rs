//! The names of all arguments.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS_NAMES",
    summary: "The names of all arguments.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.args_get.iter().chain(&data.message.args_post).for_each(|pair| visit(pair.key, pair.key));
}
