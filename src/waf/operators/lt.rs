//! The value as a number is below the argument; text without digits is 0.

use super::{Argument, Compiled, Definition, Example, Expansion, Test, number};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "lt",
    summary: "The value as a number is below the argument; text without digits is 0.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "5", input: b"4", matches: true },
        Example { argument: "5", input: b"5", matches: false },
    ],
};

struct Lt(Expansion);

fn compile(argument: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(Lt(argument.number()?)))
}

impl Test for Lt {
    fn is_match(&self, input: &[u8], transaction: &Transaction) -> bool {
        self.0.with(transaction, |wanted| number(input) < number(wanted))
    }
}
