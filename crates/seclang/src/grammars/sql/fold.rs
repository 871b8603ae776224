//! What databases skip: comments and runs of spaces, which may be as long as a sender likes.

use super::token::is_space;
use crate::grammars::places::Places;

/// Shorter runs of spaces, as programs are indented with, are read as they are: an attack with several is still in one
/// window.
const MIN_RUN_BYTES: usize = 32;

/// A value with one space for each comment and each run of spaces; `None` if it has neither. Lines stay lines.
pub(super) fn folded(value: &[u8]) -> Option<Vec<u8>> {
    let has_comment = memchr::memmem::find(value, b"/*").is_some()
        || memchr::memchr(b'\n', value).is_some()
            && (memchr::memchr(b'#', value).is_some() || memchr::memmem::find(value, b"--").is_some());
    if !has_comment && !has_run(value) {
        return None;
    }
    let mut folded = Vec::with_capacity(value.len());
    let mut comment_ends = Places::new(value, |text| memchr::memmem::find(text, b"*/"));
    let mut line_ends = Places::new(value, |text| memchr::memchr(b'\n', text));
    let mut at = 0;
    while let Some(rest @ [byte, ..]) = value.get(at..) {
        let end = match rest {
            // `/*!` is code for one dialect.
            [b'/', b'*', inner @ ..] if inner.first() != Some(&b'!') => {
                comment_ends.next(at + 2).map(|end| end + 2)
            }
            [b'-', b'-', ..] | [b'#', ..] => line_ends.next(at).filter(|end| end + 1 < value.len()),
            _ if is_space(*byte) && *byte != b'\n' => {
                Some(at + rest.iter().take_while(|byte| is_space(**byte) && **byte != b'\n').count())
            }
            _ => None,
        };
        match end {
            Some(end) => {
                if folded.last() != Some(&b' ') {
                    folded.push(b' ');
                }
                at = end;
            }
            None => {
                folded.push(*byte);
                at += 1;
            }
        }
    }
    Some(folded)
}

fn has_run(value: &[u8]) -> bool {
    // A run of this length holds a byte at each multiple of it.
    (MIN_RUN_BYTES - 1..value.len()).step_by(MIN_RUN_BYTES).any(|at| {
        let is_spaced = |at: usize| value.get(at).is_some_and(|byte| is_space(*byte));
        is_spaced(at) && {
            let before = (0..at).rev().take(MIN_RUN_BYTES).take_while(|at| is_spaced(*at)).count();
            let behind = (at..value.len()).take(MIN_RUN_BYTES).take_while(|at| is_spaced(*at)).count();
            before + behind >= MIN_RUN_BYTES
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_skipped_becomes_one_space() {
        let fold = |text: &str| folded(text.as_bytes()).map(|folded| String::from_utf8(folded).unwrap());
        assert_eq!(fold("1 or 1=1"), None);
        assert_eq!(fold("a b  c   d"), None);
        assert_eq!(fold("1/* any words */or/**/1=1").as_deref(), Some("1 or 1=1"));
        assert_eq!(fold(&format!("1{}or 1=1", " ".repeat(600))).as_deref(), Some("1 or 1=1"));
        assert_eq!(fold("1 --words\nor 1=1").as_deref(), Some("1 \nor 1=1"));
        assert_eq!(fold("1 #words\nor 1=1 --").as_deref(), Some("1 \nor 1=1 --"));
        assert_eq!(fold("1 /*!50000or*/ 1=1").as_deref(), Some("1 /*!50000or*/ 1=1"));
        assert_eq!(fold("1 or 1=1 /* open").as_deref(), Some("1 or 1=1 /* open"));
        // Each place of a run is found, wherever it begins.
        for before in 0..20 {
            let text = format!("{}{}x", "a".repeat(before), " ".repeat(2 * MIN_RUN_BYTES));
            assert_eq!(fold(&text), Some(format!("{} x", "a".repeat(before))), "{before}");
        }
    }
}
