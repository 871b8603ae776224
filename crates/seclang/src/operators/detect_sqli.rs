//! The value is an SQL injection by its token fingerprint.

use super::memo::Memo;
use super::{Argument, Compiled, Definition, Example, Prefilter, Test};
use crate::data::Data;
use crate::fingerprint;
use pattern::ByteSet;

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

thread_local! {
    static VERDICTS: Memo<bool> = const { Memo::new() };
}

struct DetectSqli;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(DetectSqli))
}

impl Test for DetectSqli {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        !is_word(input) && VERDICTS.with(|verdicts| verdicts.answer(input, fingerprint::is_injection))
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&MARKS)
    }
}

/// Bytes that are part of no name wherever it begins: without any of them a value is one name.
static MARKS: Prefilter = Prefilter::any_of(ByteSet::of(b"_").and(b'a', b'z').and(b'A', b'Z').others());

/// A single name is one token, and no fingerprint of one token is an injection. Nothing is asked of
/// such values, which are most of them.
fn is_word(input: &[u8]) -> bool {
    let mut bytes = input.iter();
    bytes.next().is_none_or(|first| first.is_ascii_alphabetic() || *first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_an_injection() {
        let keywords = [
            "select",
            "union",
            "insert",
            "drop",
            "sleep",
            "benchmark",
            "or",
            "and",
            "not",
            "null",
            "true",
            "case",
            "exec",
            "x",
            "b",
            "n",
            "u",
            "e",
            "q",
            "begin",
            "waitfor",
            "having",
            "limit",
            "like",
            "into",
            "user",
        ];
        let mut checked = 0;
        for first in keywords {
            for second in keywords.iter().chain(&["", "1", "0x1f", "_", "e5"]) {
                for word in
                    [format!("{first}{second}"), format!("{first}_{second}"), format!("_{first}{second}")]
                {
                    assert!(is_word(word.as_bytes()));
                    for word in [word.to_ascii_uppercase(), word] {
                        assert!(!fingerprint::is_injection(word.as_bytes()), "{word}");
                        checked += 1;
                    }
                }
            }
        }
        assert!(checked > 4000);
        assert!(!is_word(b"1or1") && !is_word(b"a'") && !is_word(b"a b") && is_word(b""));
    }
}
