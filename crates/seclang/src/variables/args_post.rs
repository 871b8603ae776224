//! The arguments of the body, decoded: form fields, JSON members, multipart fields.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "ARGS_POST",
    summary: "The arguments of the body, decoded: form fields, JSON members, multipart fields.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.args_post.iter().for_each(|pair| visit(pair.key, pair.value));
}
