//! Every argument of the query and the body, decoded.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS",
    summary: "Every argument of the query and the body, decoded.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.args_get.iter().chain(&data.message.args_post).for_each(|pair| visit(pair.key, pair.value));
}
