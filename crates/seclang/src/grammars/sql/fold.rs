//! What databases skip, comments and runs of spaces, and brackets and signs in a row: a sender may make them as long as
//! he likes.

use super::token::is_space;
use crate::grammars::places::Places;

/// Shorter runs of spaces are read as they are: an attack with several is still in one window.
const MIN_RUN_BYTES: usize = 16;
/// The limit for the indentation of a line. It is higher because programs are indented, and a line is indented only once.
const MIN_INDENTATION_BYTES: usize = 32;

/// Brackets or signs in a row that are kept of more.
const KEPT_SIGNS: usize = 4;

/// A value with one space for each comment and each run of spaces, and a few signs for each run of them; `None` if it has
/// none of these. Lines stay lines.
pub(super) fn folded(value: &[u8]) -> Option<Vec<u8>> {
    let mut comments = Places::new(value, comment);
    let mut runs = Places::new(value, run);
    let mut comment_ends = Places::new(value, |text| memchr::memmem::find(text, b"*/"));
    let mut signs = Places::new(value, signs);
    let mut line_ends = Places::new(value, |text| memchr::memchr(b'\n', text));
    let mut folded = Vec::new();
    let (mut copied, mut at) = (0, 0);
    loop {
        let next_signs = signs.next(at);
        let Some(next) = [comments.next(at), runs.next(at), next_signs].into_iter().flatten().min() else {
            break;
        };
        let rest = value.get(next..).unwrap_or_default();
        if next_signs == Some(next) {
            let sign_count = rest.iter().take_while(|byte| is_sign(**byte)).count();
            folded.extend_from_slice(value.get(copied..next).unwrap_or_default());
            folded.extend(rest.iter().take(sign_count).filter(|byte| !is_space(**byte)).take(KEPT_SIGNS));
            at = next + sign_count;
            copied = at;
            continue;
        }
        let end = match rest.first() {
            Some(b'/') => comment_ends.next(next + 2).map(|end| end + 2),
            Some(b'-' | b'#') => line_ends.next(next).filter(|end| end + 1 < value.len()),
            _ => Some(next + spaces(rest)),
        };
        let Some(end) = end else {
            at = next + 1;
            continue;
        };
        folded.extend_from_slice(value.get(copied..next).unwrap_or_default());
        if folded.last() != Some(&b' ') {
            folded.push(b' ');
        }
        at = end + spaces(value.get(end..).unwrap_or_default());
        copied = at;
    }
    (copied > 0).then(|| {
        folded.extend_from_slice(value.get(copied..).unwrap_or_default());
        folded
    })
}

/// Spaces that a text begins with.
fn spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_skipped(**byte)).count()
}

fn is_skipped(byte: u8) -> bool {
    is_space(byte) && byte != b'\n'
}

/// The first comment: `/*!` is code for one dialect.
fn comment(text: &[u8]) -> Option<usize> {
    memchr::memchr3_iter(b'/', b'-', b'#', text).find(|at| match text.get(*at..) {
        Some([b'/', b'*', inner @ ..]) => inner.first() != Some(&b'!'),
        Some([b'-', b'-', ..] | [b'#', ..]) => true,
        _ => false,
    })
}

/// What may stand in a row before an operand or behind it, and spaces between.
fn is_sign(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'~' | b'!' | b'+' | b'-') || is_skipped(byte)
}

/// Where the first run of signs begins that is too long for a window.
fn signs(text: &[u8]) -> Option<usize> {
    let is_in_run = |at: usize| text.get(at).is_some_and(|byte| is_sign(*byte));
    // A run of more bytes holds two at each multiple of it; one space alone begins none.
    let places = (MIN_RUN_BYTES - 1..text.len()).step_by(MIN_RUN_BYTES);
    places.filter(|at| is_in_run(*at) && is_in_run(at - 1)).find_map(|at| {
        let before = (0..at).rev().take(MIN_RUN_BYTES).take_while(|at| is_in_run(*at)).count();
        let begin = at - before;
        let run = text.get(begin..).unwrap_or_default();
        let length = run.iter().take(2 * MIN_RUN_BYTES).take_while(|byte| is_sign(**byte)).count();
        let spaces = spaces(run);
        // `--` begins a comment, which is folded as one.
        let is_comment = run.get(spaces..).is_some_and(|run| run.starts_with(b"--"));
        (length - spaces.min(length) > MIN_RUN_BYTES && !is_comment).then_some(begin + spaces)
    })
}

/// Where the first run of spaces begins that is too long for a window.
fn run(text: &[u8]) -> Option<usize> {
    let is_skipped = |at: usize| text.get(at).is_some_and(|byte| is_skipped(*byte));
    // A run of this length holds a byte at each multiple of it.
    (MIN_RUN_BYTES - 1..text.len()).step_by(MIN_RUN_BYTES).filter(|at| is_skipped(*at)).find_map(|at| {
        let before = (0..at).rev().take(MIN_INDENTATION_BYTES).take_while(|at| is_skipped(*at)).count();
        let behind = (at..text.len()).take(MIN_INDENTATION_BYTES).take_while(|at| is_skipped(*at)).count();
        let begin = at - before;
        let begins_line = begin.checked_sub(1).is_none_or(|at| text.get(at) == Some(&b'\n'));
        let at_least = if begins_line { MIN_INDENTATION_BYTES } else { MIN_RUN_BYTES };
        (before + behind >= at_least).then_some(begin)
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
        assert_eq!(fold("1 /*!50000or*/ 1=1"), None);
        assert_eq!(fold("1 or 1=1 /* open"), None);
        assert_eq!(fold(&format!("1 or {}1=1", "(".repeat(600))).as_deref(), Some("1 or ((((1=1"));
        assert_eq!(fold(&format!("1 or {}1=1", "- + ".repeat(600))).as_deref(), Some("1 or -+-+1=1"));
        assert_eq!(fold(&format!("a{}b", "-".repeat(600))), None);
        assert_eq!(fold(&format!("f({}b", "(".repeat(MIN_RUN_BYTES - 2))), None);
        // However many there are.
        let comments = format!("1{}or 1=1", format!("/**/{}", " ".repeat(MIN_RUN_BYTES - 1)).repeat(99));
        assert_eq!(fold(&comments).as_deref(), Some("1 or 1=1"));
        // Each place of a run is found, wherever it begins.
        for before in 0..40 {
            for spaces in
                [MIN_RUN_BYTES - 1, MIN_RUN_BYTES, MIN_INDENTATION_BYTES - 1, MIN_INDENTATION_BYTES, 99]
            {
                for line in ["", "b\n"] {
                    let text = |space: &str| format!("{line}{}{space}x", "a".repeat(before));
                    let at_least = if before == 0 { MIN_INDENTATION_BYTES } else { MIN_RUN_BYTES };
                    let expected = (spaces >= at_least).then(|| text(" "));
                    assert_eq!(fold(&text(&" ".repeat(spaces))), expected, "{line:?} {before} {spaces}");
                }
            }
        }
    }
}
