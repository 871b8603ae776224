//! Numbers and tokens that look like values and are something else by what stands around them.

use crate::Rule;
use crate::entropy;
use crate::scanner::find::{MAX_TOLD_TOKEN_BYTES, Token};

/// Returns true for dates such as `2026-11-22` and fractions such as `0.25`: most numbers of a body are one of them, and
/// a keyword beside them is not enough to report them.
#[inline]
pub(in crate::scanner) fn is_date_or_fraction(number: &[u8]) -> bool {
    let fraction = matches!(number, [b'0', b'.', ..]);
    let year = matches!(number, [b'1' | b'2', b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'-', ..]);
    fraction || year && matches!(number.get(5..8), Some([b'0' | b'1', b'0'..=b'9', b'-']))
}

/// Most numbers of an answer: `2026-11-22T10:`. No value begins or ends within it.
#[inline]
pub(in crate::scanner) fn is_timestamp(number: &[u8]) -> bool {
    let Some(text) = number.first_chunk::<14>() else { return false };
    let digits = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12];
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':')];
    marks.iter().all(|(at, mark)| text.get(*at) == Some(mark))
        && digits.iter().all(|at| text.get(*at).is_some_and(u8::is_ascii_digit))
}

/// Whether `start..end` is no part of a longer word.
#[inline]
pub(in crate::scanner) fn is_whole(body: &[u8], start: usize, end: usize) -> bool {
    let word = |at: Option<usize>| at.and_then(|at| body.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let begins = !word(Some(start)) || !word(start.checked_sub(1));
    let ends = !word(end.checked_sub(1)) || !word(Some(end));
    begins && ends
}

/// Whether a token is joined of parts, as names are.
pub(in crate::scanner) fn has_joint(body: &[u8], token: Token) -> bool {
    let bytes = token.bytes.min(MAX_TOLD_TOKEN_BYTES) as usize;
    body.get(token.start..token.start + bytes).is_none_or(|text| text.iter().any(|byte| b"-_".contains(byte)))
}

/// Whether a value begins here by the sign before it: `key=…`, `key: "…`.
pub(in crate::scanner) fn is_behind_sign(body: &[u8], start: usize) -> bool {
    let is_sign = |byte: &u8| matches!(byte, b'=' | b':');
    match body.get(..start).unwrap_or_default() {
        [.., sign, b' ', b'"' | b'\''] | [.., sign, b' ' | b'"' | b'\''] | [.., sign] => is_sign(sign),
        [] => false,
    }
}

impl Rule {
    /// Whether a value has the entropy it needs, what all values begin with left out.
    pub(in crate::scanner) fn is_random(&self, value: &[u8]) -> bool {
        let Some(least) = self.min_entropy else { return true };
        let fixed = self.begins.tokens.iter().chain(&self.begins.literals);
        let fixed =
            fixed.filter(|text| value.starts_with(text.as_bytes())).map(String::len).max().unwrap_or(0);
        let rest = value.get(fixed..).unwrap_or(&[]);
        entropy::bits_per_byte(rest) >= least && !entropy::is_placeholder(rest)
    }
}
