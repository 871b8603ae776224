//! The pattern matches somewhere in a value that is a field, not a document.

use super::{Argument, Compiled, Definition, Example, Found, Prefilter, Test, rx};
use crate::waf::grammars::is_document;
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "rxField",
    summary: "The pattern matches somewhere in a value that is a field: texts of several lines or sentences pass.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: r"\bmkfifo\s+/", input: b"mkfifo /tmp/a", matches: true },
        Example {
            argument: r"\bmkfifo\s+/",
            input: b"what does mkfifo /tmp/a do on the shell of my server?",
            matches: false,
        },
    ],
};

/// `@rx`, and what it may be asked of.
struct RxField(Box<dyn Test>);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(RxField((rx::DEFINITION.compile)(argument)?)))
}

impl Test for RxField {
    fn is_match(&self, input: &[u8], transaction: &Transaction) -> bool {
        self.0.is_match(input, transaction) && !is_document(input)
    }

    fn locate(&self, input: &[u8], transaction: &Transaction) -> Found {
        self.0.locate(input, transaction)
    }

    fn literals(&self) -> Option<&[Vec<u8>]> {
        self.0.literals()
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        self.0.prefilter()
    }
}
