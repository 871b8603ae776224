//! The media type of the response with its parameters.

use super::{Definition, Text, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "RESPONSE_CONTENT_TYPE",
    summary: "The media type of the response with its parameters.",
    collection: false,
    volatile: false,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    visit(Text::EMPTY, transaction.response_content_type());
}
