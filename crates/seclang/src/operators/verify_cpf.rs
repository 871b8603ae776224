//! What the pattern finds is a taxpayer number of Brazil by its two check digits.

use super::{Argument, Compiled, Definition, Example, numbers};

pub(super) const DEFINITION: Definition = Definition {
    name: "verifyCPF",
    summary: "What the pattern finds is a taxpayer number of Brazil by its two check digits.",
    reads_file: false,
    compile,
    examples: &[
        Example { argument: r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", input: b"529.982.247-25", matches: true },
        Example { argument: r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", input: b"529.982.247-26", matches: false },
    ],
};

fn compile(argument: &mut Argument<'_>) -> Compiled {
    numbers::compile(argument, is_valid)
}

fn is_valid(digits: &[u8]) -> bool {
    let check = |count: usize| {
        let weights = (2..=count as u32 + 1).rev();
        let sum: u32 = digits.iter().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum();
        digits.get(count).is_some_and(|digit| u32::from(*digit) == sum * 10 % 11 % 10)
    };
    let repeated = digits.windows(2).all(|pair| pair.first() == pair.last());
    digits.len() == 11 && !repeated && check(9) && check(10)
}
