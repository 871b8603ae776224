//! Computations: what stands between marks to be seen by, of literals alone.

use std::ops::Range;

use pattern::ByteSet;

use crate::grammars::places::Places;

/// What a computation applies to literals.
const OPERATORS: ByteSet = ByteSet::of(b"*/+-^%|=<>");
const LITERALS: ByteSet = ByteSet::of(b"0123456789'\"().");
/// What stands in a sum: literals and operators, but no filter.
const SUMS: ByteSet = ByteSet::of(b"0123456789'\"().*/+-^%=<>");

/// Letters of a text that joins strings.
const MAX_JOINED_LETTERS: usize = 64;

/// Tells which parts of a text are computations. Expressions overlap, so the text is searched once for all of them.
///
/// Spaces count nowhere.
pub(super) struct Computations<'v> {
    text: &'v [u8],
    operators: Places<'v>,
    pipes: Places<'v>,
    no_literals: Places<'v>,
    no_sums: Places<'v>,
    digits: Places<'v>,
    digits_behind: Places<'v>,
    calls: Places<'v>,
    methods: Places<'v>,
}

impl<'v> Computations<'v> {
    pub(super) fn new(text: &'v [u8]) -> Self {
        let digit = |text: &[u8]| text.iter().position(u8::is_ascii_digit);
        let places = |find| Places::new(text, find);
        Self {
            text,
            operators: places(|text| text.iter().position(|byte| OPERATORS.has(*byte))),
            pipes: places(|text| memchr::memchr(b'|', text)),
            no_literals: places(|text| text.iter().position(|byte| *byte > b' ' && !LITERALS.has(*byte))),
            no_sums: places(|text| text.iter().position(|byte| *byte > b' ' && !SUMS.has(*byte))),
            digits: places(digit),
            digits_behind: places(digit),
            calls: places(|text| memchr::memchr(b'(', text)),
            methods: places(method),
        }
    }

    /// Whether an expression, or what stands before its first filter, is a computation. It begins with no space.
    pub(super) fn any_is(&mut self, expression: Range<usize>) -> bool {
        let is_begun = match self.text.get(expression.start) {
            Some(b'\'' | b'"') => true,
            // Only literals stand before the operator: of most texts the first word ends this.
            Some(first) if LITERALS.has(*first) => self
                .no_literals
                .within(expression.clone())
                .and_then(|at| self.text.get(at))
                .is_some_and(|byte| OPERATORS.has(*byte)),
            _ => false,
        };
        if !is_begun {
            return false;
        }
        // A filter takes the result on.
        let filter = self.pipes.within(expression.clone());
        self.is_one(expression.clone()) || filter.is_some_and(|filter| self.is_one(expression.start..filter))
    }

    /// Literals and operators alone: `7*7`, `'a'+'b'`, `7*'7'`, `1/0`, `"x".toUpperCase()`.
    fn is_one(&mut self, part: Range<usize>) -> bool {
        let is_quoted = matches!(self.text.get(part.start), Some(b'\'' | b'"'));
        let Some(at) = self.operators.within(part.clone()) else {
            // A method of a literal.
            return is_quoted
                && self.calls.within(part.clone()).is_some()
                && self.methods.within(part).is_some();
        };
        let joins = matches!(self.text.get(at), Some(b'*' | b'+' | b'|'));
        self.is_sum(&part, at) || is_quoted && joins && self.is_joined(&part)
    }

    /// Whether there are literals alone before the operator, and no more than a sum behind it.
    fn is_sum(&mut self, part: &Range<usize>, operator: usize) -> bool {
        let behind = operator + 1..part.end;
        let ends = match self.no_sums.within(behind.clone()) {
            None => true,
            // `{{ 7*7 !}}`
            Some(at) => self.text.get(at) == Some(&b'!') && self.letters(at + 1..part.end).next().is_none(),
        };
        ends && self.no_literals.within(part.start..operator).is_none()
            && self.digits.within(part.start..operator).is_some()
            && self.digits_behind.within(behind).is_some()
    }

    /// Whether a short text ends as a literal does.
    fn is_joined(&self, part: &Range<usize>) -> bool {
        let (mut last, mut before, mut count) = (0, 0, 0);
        for letter in self.letters(part.clone()).take(MAX_JOINED_LETTERS + 1) {
            (before, last) = (last, letter);
            count += 1;
        }
        if last == b'!' {
            (last, count) = (before, count - 1);
        }
        count < MAX_JOINED_LETTERS && (last.is_ascii_digit() || matches!(last, b'\'' | b'"' | b')'))
    }

    fn letters(&self, part: Range<usize>) -> impl Iterator<Item = u8> {
        self.text.get(part).unwrap_or_default().iter().copied().filter(|byte| *byte > b' ')
    }
}

/// A point behind a quote.
fn method(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'.', text).find(|at| {
        let before = text.get(..*at).unwrap_or_default();
        before.iter().rev().find(|byte| **byte > b' ').is_some_and(|byte| matches!(byte, b'\'' | b'"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_numbers::TestNumbers;

    /// The definition, applied to one expression without its spaces.
    fn naive(expression: &[u8]) -> bool {
        let text: Vec<u8> = expression.iter().copied().filter(|byte| *byte > b' ').collect();
        let is_begun = match text.first() {
            Some(b'\'' | b'"') => true,
            Some(first) if LITERALS.has(*first) => {
                text.iter().find(|byte| !LITERALS.has(**byte)).is_some_and(|byte| OPERATORS.has(*byte))
            }
            _ => false,
        };
        let computed = text.split(|byte| *byte == b'|').next().unwrap_or_default();
        is_begun && (naive_one(&text) || naive_one(computed))
    }

    fn naive_one(text: &[u8]) -> bool {
        let text = text.strip_suffix(b"!").unwrap_or(text);
        let has = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
        let has_digit = |text: &[u8]| text.iter().any(u8::is_ascii_digit);
        let is_quoted = matches!(text.first(), Some(b'\'' | b'"'));
        let Some(at) = text.iter().position(|byte| OPERATORS.has(*byte)) else {
            return is_quoted && has(b"(") && (has(b"'.") || has(b"\"."));
        };
        let (left, right) = (&text[..at], &text[at + 1..]);
        left.iter().all(|byte| LITERALS.has(*byte))
            && right.iter().all(|byte| SUMS.has(*byte))
            && has_digit(left)
            && has_digit(right)
            || is_quoted
                && matches!(text[at], b'*' | b'+' | b'|')
                && text.last().is_some_and(|byte| b"'\"0123456789)".contains(byte))
                && text.len() < MAX_JOINED_LETTERS
    }

    #[test]
    fn overlapping_parts_are_judged_as_each_by_itself() {
        let mut numbers = TestNumbers(1);
        let pieces = [
            "7", "1", "'", "\"", "'a'", "*", "+", "|", "/", "=", "(", ")", ".", "!", " ", "x", "{", "}",
            "'.", "  ", "\n", "-", "abc",
        ];
        let (mut ran, mut computed) = (0, 0);
        for round in 0..3000 {
            let length = 1 + numbers.below(if round % 10 == 0 { 120 } else { 12 });
            let text: String = (0..length).map(|_| pieces[numbers.below(pieces.len())]).collect();
            let text = text.as_bytes();
            let mut computations = Computations::new(text);
            for start in (0..text.len()).filter(|at| text[*at] > b' ') {
                let end = start + numbers.below(text.len() - start + 1);
                let expected = naive(&text[start..end]);
                let shown = String::from_utf8_lossy(text);
                assert_eq!(computations.any_is(start..end), expected, "{start}..{end} of {shown}");
                ran += 1;
                computed += usize::from(expected);
            }
        }
        assert!(ran > 20_000 && computed > 300, "{computed} of {ran}");
    }
}
