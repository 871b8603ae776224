//! The value has a byte outside the ranges: `32-126,9,10,13`.

use super::{Argument, Compiled, Definition, Example, Found, Test};
use crate::waf::matcher::Transaction;

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
    allowed: [bool; 256],
}

fn compile(argument: &mut Argument<'_>) -> Compiled {
    let mut allowed = [false; 256];
    for range in argument.text.split(',').map(str::trim) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.trim().parse::<u8>(), last.trim().parse::<u8>()) {
            (Ok(first), Ok(last)) if first <= last => {
                allowed
                    .iter_mut()
                    .take(usize::from(last) + 1)
                    .skip(usize::from(first))
                    .for_each(|a| *a = true);
            }
            _ => return Err(format!("expected byte ranges such as `32-126,9`, found `{range}`")),
        }
    }
    Ok(Box::new(ValidateByteRange { allowed }))
}

impl ValidateByteRange {
    fn outside(&self, byte: u8) -> bool {
        !self.allowed.get(usize::from(byte)).copied().unwrap_or(false)
    }
}

impl Test for ValidateByteRange {
    fn is_match(&self, input: &[u8], _: &Transaction) -> bool {
        input.iter().any(|byte| self.outside(*byte))
    }

    fn locate(&self, input: &[u8], _: &Transaction) -> Found {
        let at = input.iter().position(|byte| self.outside(*byte));
        at.map_or_else(|| Found::whole(input), |at| Found::span((at, at + 1)))
    }
}
