//! What the pattern finds is a card number by its check digit (ISO/IEC 7812-1).

use super::{Argument, Compiled, Definition, Example, numbers};

pub(super) const DEFINITION: Definition = Definition {
    name: "verifyCC",
    summary: "What the pattern finds is a card number by its check digit (ISO/IEC 7812-1).",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: r"\d{13,16}", input: b"x 4111111111111111", matches: true },
        Example { argument: r"\d{13,16}", input: b"x 4111111111111112", matches: false },
    ],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    numbers::compile(argument, is_valid)
}

fn is_valid(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (u32::from(*digit), index % 2) {
            (digit, 0) => digit,
            (digit, _) if digit > 4 => digit * 2 - 9,
            (digit, _) => digit * 2,
        })
        .sum();
    digits.len() >= 12 && sum.is_multiple_of(10)
}
