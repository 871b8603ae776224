//! The names of the body's arguments.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS_POST_NAMES",
    summary: "The names of the body's arguments.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.args_post.iter().for_each(|pair| visit(pair.key, pair.key));
}
