//! The value matches the pattern; PCRE's meaning, on bytes.

use super::{Argument, Compiled, Definition, Example, Found, Pattern, Prefilter, Test};
use crate::waf::matcher::Transaction;

pub(super) const DEFINITION: Definition = Definition {
    name: "rx",
    summary: "The value matches the pattern; PCRE's meaning, on bytes.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "^a.b$", input: b"a\nb", matches: true },
        Example { argument: "(?i)SELECT", input: b"select", matches: true },
        Example { argument: "^a$", input: b"ab", matches: false },
    ],
};

struct Rx {
    pattern: Pattern,
    prefilter: Prefilter,
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let pattern = Pattern::new(argument.text)?;
    let prefilter = Prefilter::of_pattern(&pattern);
    Ok(Box::new(Rx { pattern, prefilter }))
}

impl Test for Rx {
    fn is_match(&self, input: &[u8], _: &Transaction) -> bool {
        self.pattern.is_match(input)
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&self.prefilter)
    }

    fn locate(&self, input: &[u8], _: &Transaction) -> Found {
        self.pattern.groups(input).map_or_else(|| Found::whole(input), Found::groups)
    }
}
