//! The body of a request that its sender calls a text, where no reader takes it apart.

use super::{Changes, Definition, Text, Visit};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "REQUEST_BODY_TEXT",
    summary: "A body that is text by its content type and that no reader takes apart; empty for others.",
    collection: false,
    changes: Changes::WithMessage,
    values,
};

fn values(transaction: &Transaction, visit: &mut Visit<'_>) {
    if transaction.facts.body_text != Text::EMPTY {
        visit(Text::EMPTY, transaction.facts.body_text);
    }
}
