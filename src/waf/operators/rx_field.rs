//! The pattern matches in a value or in one of its fragments, but not across the lines of a text.

use super::{Argument, Compiled, Definition, Example, Found, Prefilter, Test, rx};
use crate::waf::grammars::{fragments, spans_lines};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "rxField",
    summary: "The pattern matches in the value, one of its lines or one of their sentences, each for itself. Across the \
              lines of a text of three or more it does not match.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: r"\bmkfifo\s+/", input: b"mkfifo /tmp/a", matches: true },
        Example {
            argument: r"^mkfifo\s+/",
            input: b"Hello team,\nthis is the line:\nmkfifo /tmp/a",
            matches: true,
        },
        Example {
            argument: r"mkfifo\s+/",
            input: b"there are mkfifo\n/tmp and other words\nin these lines",
            matches: false,
        },
    ],
};

/// `@rx`, asked of each fragment.
struct RxField(Box<dyn Test>);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(RxField((rx::DEFINITION.compile)(argument)?)))
}

impl Test for RxField {
    fn is_match(&self, input: &[u8], transaction: &Transaction) -> bool {
        if !spans_lines(input) && self.0.is_match(input, transaction) {
            return true;
        }
        fragments(input).any(|(_, fragment)| !spans_lines(fragment) && self.0.is_match(fragment, transaction))
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
