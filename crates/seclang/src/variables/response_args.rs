//! The values of a JSON response, by their paths.

use super::{Changes, Definition, Visit};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_ARGS",
    summary: "The values of a JSON response, by their paths.",
    collection: true,
    changes: Changes::WithMessage,
    values,
};

fn values(data: &Data, visit: &mut Visit<'_>) {
    data.message.response_args.iter().for_each(|pair| visit(pair.key, pair.value));
}
