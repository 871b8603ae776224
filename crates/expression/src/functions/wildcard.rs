//! `wildcard_replace`: what `*` stands for in a text, in another text.

use super::bytes;
use crate::literals::pieces;
use crate::value::Value;

/// Longest that a text may become, in bytes.
pub(crate) const MAX_REPLACED_BYTES: usize = 64 << 10;

/// A text, a pattern of all of it where `*` stands for anything, and what it becomes, where `${1}` is what the first `*` stood for.
/// Without a match the text stays. With `s` case counts.
pub(super) fn wildcard_replace<'r>(values: &[Value<'r>]) -> Value<'r> {
    let (text, pattern, to) = (bytes(values, 0), bytes(values, 1), bytes(values, 2));
    let is_strict = bytes(values, 3).contains(&b's');
    let replaced = captures(text, &pieces(pattern), is_strict).map(|found| filled(to, &found));
    Value::Text(replaced.unwrap_or_else(|| text.to_vec()).into())
}

/// What each `*` stands for: as little as can be, from the left; the last takes the rest.
fn captures<'t>(text: &'t [u8], pieces: &[Vec<u8>], is_strict: bool) -> Option<Vec<&'t [u8]>> {
    let same = |part: &[u8], piece: &[u8]| {
        if is_strict { part == piece } else { part.eq_ignore_ascii_case(piece) }
    };
    let (first, others) = pieces.split_first()?;
    let (head, mut rest) = text.split_at_checked(first.len())?;
    if !same(head, first) {
        return None;
    }
    let Some((last, inner)) = others.split_last() else { return rest.is_empty().then(Vec::new) };
    let mut found = Vec::with_capacity(others.len());
    for piece in inner {
        let at = match piece.is_empty() {
            true => 0,
            false => rest.windows(piece.len()).position(|part| same(part, piece))?,
        };
        found.push(rest.get(..at)?);
        rest = rest.get(at + piece.len()..)?;
    }
    let (part, tail) = rest.split_at_checked(rest.len().checked_sub(last.len())?)?;
    same(tail, last).then(|| {
        found.push(part);
        found
    })
}

/// A text with what was found in the place of `${1}` and so on; `$$` is a dollar sign, and what was not found is nothing.
pub(crate) fn filled(to: &[u8], found: &[&[u8]]) -> Vec<u8> {
    let mut text = Vec::with_capacity(to.len());
    let mut rest = to;
    while let Some(at) = memchr::memchr(b'$', rest) {
        text.extend_from_slice(rest.get(..at).unwrap_or(&[]));
        rest = rest.get(at..).unwrap_or(&[]);
        rest = match rest {
            [b'$', b'$', after @ ..] => {
                text.push(b'$');
                after
            }
            [b'$', b'{', digit @ b'0'..=b'9', b'}', after @ ..] => {
                let nth = usize::from(digit - b'0').checked_sub(1);
                text.extend_from_slice(nth.and_then(|nth| found.get(nth)).unwrap_or(&&[][..]));
                after
            }
            _ => {
                text.push(b'$');
                rest.get(1..).unwrap_or(&[])
            }
        };
        if text.len() > MAX_REPLACED_BYTES {
            text.truncate(MAX_REPLACED_BYTES);
            return text;
        }
    }
    text.extend_from_slice(rest);
    text
}
