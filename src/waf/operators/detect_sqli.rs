//! The value is an SQL injection by its token fingerprint.

use super::{Argument, Compiled, Definition, Example, Test};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "detectSQLi",
    summary: "The value is an SQL injection by its token fingerprint.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "", input: b"1' OR '1'='1", matches: true },
        Example { argument: "", input: b"1 UNION SELECT a FROM b", matches: true },
        Example { argument: "", input: b"O'Brien and sons", matches: false },
    ],
};

struct DetectSqli;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(DetectSqli))
}

impl Test for DetectSqli {
    fn is_match(&self, input: &[u8], _: &Transaction) -> bool {
        libinjectionrs::detect_sqli(input).is_injection()
    }
}
