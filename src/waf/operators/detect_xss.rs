//! The value is markup that runs script in one of the HTML contexts.

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

struct DetectXss;

fn compile(_: &mut Argument<'_>) -> Compiled {
    Ok(Box::new(DetectXss))
}

impl Test for DetectXss {
    fn is_match(&self, input: &[u8], _: &Transaction) -> bool {
        matches!(libinjectionrs::detect_xss(input), libinjectionrs::XssResult::Xss)
    }
}
