//! The value has a byte outside the ranges: `32-126,9,10,13`.

use super::{Argument, Compiled, Definition, Example, Found, Prefilter, Test};
use crate::data::Data;
use pattern::ByteSet;

pub(super) const DEFINITION: Definition = Definition {
    name: "validateByteRange",
    summary: "The value has a byte outside the ranges: `32-126,9,10,13`.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: "32-126", input: b"a\0", matches: true },
        Example { argument: "32-126,9", input: b"a\tb", matches: false },
    ],
};

struct ValidateByteRange {
    outside: ByteSet,
    prefilter: Prefilter,
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let mut allowed = ByteSet::EMPTY;
    for range in argument.text.split(',').map(str::trim) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.trim().parse::<u8>(), last.trim().parse::<u8>()) {
            (Ok(first), Ok(last)) if first <= last => allowed = allowed.and(first, last),
            _ => return Err(format!("expected byte ranges such as `32-126,9`, found `{range}`")),
        }
    }
    let outside = allowed.others();
    Ok(Box::new(ValidateByteRange { outside, prefilter: Prefilter::any_of(outside) }))
}

impl Test for ValidateByteRange {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        ByteSet::of_text(input).intersects(&self.outside)
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        Some(&self.prefilter)
    }

    fn locate(&self, input: &[u8], _: &Data) -> Found {
        let at = input.iter().position(|byte| self.outside.has(*byte));
        at.map_or_else(|| Found::whole(input), |at| Found::span((at, at + 1)))
    }
}
