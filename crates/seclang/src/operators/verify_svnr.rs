//! What the pattern finds is a number of the Austrian social insurance: ten digits, the fourth checks the others.

use super::{Argument, Compiled, Definition, Example, numbers};

pub(super) const DEFINITION: Definition = Definition {
    name: "verifySVNR",
    summary: "What the pattern finds is a number of the Austrian social insurance: ten digits, the fourth checks the others.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: r"\d{4} ?\d{6}", input: b"1237 010180", matches: true },
        Example { argument: r"\d{4} ?\d{6}", input: b"1238 010180", matches: false },
        Example { argument: r"\d{4} ?\d{5}", input: b"1237 01018", matches: false },
    ],
};

/// What each digit counts, but for the one that checks.
const WEIGHTS: [u32; 10] = [3, 7, 9, 0, 5, 8, 4, 2, 1, 6];

fn compile(argument: &mut Argument<'_>) -> Compiled {
    numbers::compile(argument, is_valid)
}

fn is_valid(digits: &[u8]) -> bool {
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| u32::from(*digit) * weight).sum();
    digits.len() == WEIGHTS.len()
        && digits.first() != Some(&0)
        && digits.get(3).is_some_and(|check| u32::from(*check) == sum % 11)
}
