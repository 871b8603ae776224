//! The value is markup that runs script in one of the HTML contexts.

use super::memo::Memo;
use super::{Argument, Compiled, Definition, Example, Prefilter, Test};
use crate::data::Data;
use pattern::ByteSet;

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
    static VERDICTS: Memo<bool> = const { Memo::new() };
}

struct DetectXss;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(DetectXss))
}

impl Test for DetectXss {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        let judge =
            |input: &[u8]| matches!(libinjectionrs::detect_xss(input), libinjectionrs::XssResult::Xss);
        VERDICTS.with(|verdicts| verdicts.answer(input, judge))
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&MARKS)
    }
}

/// Tags, comments and document types open with `<`, and an attribute does nothing without a value.
static MARKS: Prefilter = Prefilter::any_of(ByteSet::of(b"<="));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup_without_a_mark() {
        let parts = [
            "script",
            "onerror",
            "onload ",
            "javascript:",
            "svg",
            "style",
            "xlink:href",
            "src",
            "alert(1)",
            " ",
            "\t",
            "\0",
            "\"",
            "'",
            "`",
            ">",
            "/",
            "/>",
            "!",
            "--",
            "-->",
            "?",
            "%",
            "&#60;",
            "[if",
            "xml",
            "import",
            "\\",
            ";",
            "+",
            "\u{ff1c}",
            "data:text/html",
            "entity",
            "]]>",
            "doctype",
            "\r\n",
        ];
        let mut checked = 0;
        for first in parts {
            for second in parts {
                for third in parts {
                    let text = format!("{first}{second}{third}");
                    let set = ByteSet::of(text.as_bytes());
                    assert!(!MARKS.passes(text.len(), &set));
                    let verdict = libinjectionrs::detect_xss(text.as_bytes());
                    assert!(!matches!(verdict, libinjectionrs::XssResult::Xss), "{text}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 40_000);
    }
}
