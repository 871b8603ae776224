//! The check of numbers behind `@verifyCC` and its kin: a pattern finds them, a rule judges them.

use super::{Argument, Compiled, Found, Pattern, Test};
use crate::data::Data;
use pattern::Span;

struct Numbers {
    pattern: Pattern,
    is_valid: fn(&[u8]) -> bool,
}

/// `is_valid` is given the digits of what the pattern finds, as numbers from 0 to 9.
pub(super) fn compile(argument: &Argument<'_>, is_valid: fn(&[u8]) -> bool) -> Compiled {
    Ok(Box::new(Numbers { pattern: Pattern::new(argument.text)?, is_valid }))
}

impl Numbers {
    fn find(&self, input: &[u8]) -> Option<Span> {
        let mut from = 0;
        while let Some((start, end)) = self.pattern.find_at(input, from) {
            let found = input.get(start..end).unwrap_or(&[]);
            let digits: Vec<u8> = found.iter().filter(|b| b.is_ascii_digit()).map(|b| b - b'0').collect();
            if (self.is_valid)(&digits) {
                return Some((start, end));
            }
            from = end.max(start + 1);
        }
        None
    }
}

impl Test for Numbers {
    fn is_match(&self, input: &[u8], _: &Data) -> bool {
        self.find(input).is_some()
    }

    fn locate(&self, input: &[u8], _: &Data) -> Found {
        self.find(input).map_or_else(|| Found::whole(input), Found::span)
    }
}
