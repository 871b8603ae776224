//! The comparison of numbers behind `@eq` and its kin.

use super::{Argument, Compiled, Expansion, Test};
use crate::data::Data;
use crate::prefilter::Prefilter;
use pattern::ByteSet;

/// Whether a value stands to the argument as the operator says.
type Holds = fn(&i64, &i64) -> bool;

struct Comparison {
    argument: Expansion,
    holds: Holds,
    prefilter: Option<Prefilter>,
}

pub(super) fn compile(argument: &mut Argument<'_>, holds: Holds) -> Compiled {
    let argument = argument.expansion()?;
    let prefilter = argument.literal().map(|wanted| prefilter(number(wanted), holds));
    Ok(Box::new(Comparison { argument, holds, prefilter }))
}

/// Most numbers that rules compare are counts of one digit: which of those hold.
fn prefilter(wanted: i64, holds: Holds) -> Prefilter {
    let matching = (0..=u8::MAX).filter(|byte| holds(&number(&[*byte]), &wanted));
    let matching = matching.fold(ByteSet::EMPTY, |set, byte| set.and(byte, byte));
    Prefilter::of_one_byte(matching, holds(&number(b""), &wanted))
}

impl Test for Comparison {
    fn is_match(&self, input: &[u8], data: &Data) -> bool {
        self.argument.with(data, |wanted| (self.holds)(&number(input), &number(wanted)))
    }

    fn prefilter(&self) -> Option<&Prefilter> {
        self.prefilter.as_ref()
    }
}

/// The integer a text begins with; 0 if it begins with none.
fn number(text: &[u8]) -> i64 {
    let text = text.trim_ascii();
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let value = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0i64, |value, byte| value.saturating_mul(10).saturating_add(i64::from(byte - b'0')));
    if negative { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_atoi_reads_them() {
        for (text, value) in
            [("12", 12), (" -3x", -3), ("", 0), ("x1", 0), ("99999999999999999999", i64::MAX)]
        {
            assert_eq!(number(text.as_bytes()), value);
        }
    }

    #[test]
    fn a_prefilter_lets_through_what_holds_and_few_others() {
        let comparisons: [Holds; 5] = [i64::eq, i64::ge, i64::gt, i64::le, i64::lt];
        let mut refused = 0;
        for holds in comparisons {
            for wanted in [-1, 0, 1, 5, 9, 10, 400] {
                let prefilter = prefilter(wanted, holds);
                for text in
                    ["", "0", "1", "5", "9", "x", "-", " ", "10", "-1", " 1", "007", "+9", "400", "401"]
                {
                    let passes = prefilter.passes(text.len(), &ByteSet::of_text(text.as_bytes()));
                    let is_match = holds(&number(text.as_bytes()), &wanted);
                    assert!(passes || !is_match, "{wanted} {text:?}");
                    assert!(is_match || !passes || text.len() > 1, "{wanted} {text:?}");
                    refused += usize::from(!passes);
                }
            }
        }
        assert!(refused > 100);
    }
}
