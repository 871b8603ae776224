//! The value is markup that runs script in one of the HTML contexts.

use super::memo::Memo;
use super::{Argument, Compiled, Definition, Example, Test};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "detectXSS",
    summary: "The value is markup that runs script in one of the HTML contexts.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "", input: b"<script>alert(1)</script>", matches: true },
        Example { argument: "", input: b"\" onmouseover=alert(1) x=\"", matches: true },
        Example { argument: "", input: b"a < b and c > d", matches: false },
    ],
};

thread_local! {
    static VERDICTS: Memo = const { Memo::new() };
}

struct DetectXss;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(DetectXss))
}

impl Test for DetectXss {
    fn is_match(&self, input: &[u8], _: &Transaction) -> bool {
        let judge =
            |input: &[u8]| matches!(libinjectionrs::detect_xss(input), libinjectionrs::XssResult::Xss);
        !is_plain(input) && VERDICTS.with(|verdicts| verdicts.verdict(input, judge))
    }
}

/// Letters, digits, `_`, `-` and `.` neither open a tag nor end a value: no markup without others.
fn is_plain(input: &[u8]) -> bool {
    input.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_plain_is_markup() {
        let words =
            ["script", "onerror", "javascript", "svg", "img", "style", "xlink", "data", "alert", "a", "1"];
        for first in words {
            for second in words {
                for join in ["", "-", ".", "_", "--", ".."] {
                    let text = format!("{first}{join}{second}");
                    assert!(is_plain(text.as_bytes()));
                    assert!(
                        !matches!(
                            libinjectionrs::detect_xss(text.as_bytes()),
                            libinjectionrs::XssResult::Xss
                        ),
                        "{text}"
                    );
                }
            }
        }
        assert!(!is_plain(b"<") && !is_plain(b"a=b") && !is_plain(b"a b"));
    }
}
