//! What the pattern finds is a number that the United States have given to a person (SSA rules of 2011).

use super::{Argument, Compiled, Definition, Example, numbers};

pub(super) const DEFINITION: Definition = Definition {
    name: "verifySSN",
    summary: "What the pattern finds is a number that the United States have given to a person (SSA rules of 2011).",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: r"\d{3}-?\d{2}-?\d{4}", input: b"078-05-1121", matches: true },
        Example { argument: r"\d{3}-?\d{2}-?\d{4}", input: b"000-05-1120", matches: false },
    ],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    numbers::compile(argument, is_valid)
}

fn is_valid(digits: &[u8]) -> bool {
    let number =
        |part: Option<&[u8]>| part.unwrap_or(&[]).iter().fold(0u32, |n, digit| n * 10 + u32::from(*digit));
    let (area, group, serial) = (number(digits.get(..3)), number(digits.get(3..5)), number(digits.get(5..)));
    digits.len() == 9 && area != 0 && area != 666 && area < 900 && group != 0 && serial != 0
}
