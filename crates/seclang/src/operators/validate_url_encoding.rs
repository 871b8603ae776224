//! The value has a `%` that two hex digits do not follow.

use super::{Argument, Compiled, Definition, Example, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "validateUrlEncoding",
    summary: "The value has a `%` that two hex digits do not follow.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "", input: b"a%2", matches: true },
        Example { argument: "", input: b"%zz", matches: true },
        Example { argument: "", input: b"a%20b", matches: false },
    ],
};

struct ValidateUrlEncoding;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(ValidateUrlEncoding))
}

impl Test for ValidateUrlEncoding {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        memchr::memchr_iter(b'%', input)
            .any(|at| !input.get(at + 1..at + 3).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit)))
    }
}
