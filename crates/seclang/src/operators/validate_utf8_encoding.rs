//! The value is not well-formed UTF-8 (RFC 3629): overlong, surrogate or cut off.

use super::{Argument, Compiled, Definition, Example, Test};
use crate::data::Data;

pub(super) const DEFINITION: Definition = Definition {
    name: "validateUtf8Encoding",
    summary: "The value is not well-formed UTF-8 (RFC 3629): overlong, surrogate or cut off.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "", input: b"\xc0\xaf", matches: true },
        Example { argument: "", input: b"\xc3\xa9", matches: false },
    ],
};

struct ValidateUtf8Encoding;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(ValidateUtf8Encoding))
}

impl Test for ValidateUtf8Encoding {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        std::str::from_utf8(input).is_err()
    }
}
