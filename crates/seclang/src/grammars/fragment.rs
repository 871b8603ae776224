//! Fragments: the parts of a value that are judged by themselves.
//!
//! Whoever sends an attack chooses what stands around it, so that must not count. Each line of a value, each
//! sentence of a line and each text between two tags is judged as if it were the whole value: whatever is found in
//! it alone is found in it everywhere.

use std::ops::Range;

use super::{Finding, Strength, spans_lines};
use pattern::ByteSet;

/// Judges a value, each of its lines, and each string of it if it is JSON, and returns the strongest finding. A part is
/// left out if `is_new` says that it was judged before.
pub(super) fn strongest_of_lines(
    value: &[u8],
    is_new: impl Fn(Range<usize>) -> bool,
    judge: impl Fn(usize, &[u8]) -> Option<Finding>,
) -> Option<Finding> {
    // What runs from one line of a text into the next is no injection.
    let is_one = !spans_lines(value) && is_new(0..value.len());
    let mut found = if is_one { judge(0, value) } else { None };
    let parts = lines(value).filter(|(_, line)| line.len() < value.len()).chain(json_strings(value));
    for (from, part) in parts.filter(|(from, part)| is_new(*from..from + part.len())) {
        if is_certain(found) {
            break;
        }
        found = found.max(judge(from, part).map(|found| Finding { from: from + found.from, ..found }));
    }
    found
}

/// The same, and how each sentence begins: what stands in a sentence was read with its line.
pub(super) fn strongest(
    value: &[u8],
    is_new: impl Fn(Range<usize>) -> bool,
    judge: impl Fn(usize, &[u8]) -> Option<Finding>,
    begins: impl Fn(&[u8]) -> Option<Strength>,
) -> Option<Finding> {
    let mut found = strongest_of_lines(value, &is_new, judge);
    let lines = lines(value).filter(|(from, line)| is_new(*from..from + line.len()));
    for (from, sentence) in lines.flat_map(sentences_of_line) {
        if is_certain(found) {
            break;
        }
        found = found.max(Finding::at(begins(sentence), from));
    }
    found
}

fn is_certain(found: Option<Finding>) -> bool {
    found.is_some_and(|found| found.strength == Strength::Certain)
}

/// The fragments of a value that are shorter than it, each with the place where it begins: its lines, their sentences,
/// and the strings of a JSON text.
pub(crate) fn fragments(value: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let whole = value.len();
    lines(value)
        .filter(move |(_, line)| line.len() < whole)
        .chain(sentences(value))
        .chain(json_strings(value))
}

/// The fragments of a value that hold one of these places, which are in order.
pub(super) fn fragments_with<'t>(value: &'t [u8], places: &[usize]) -> impl Iterator<Item = &'t [u8]> {
    let whole = value.len();
    let has_place = |from: usize, part: &[u8]| {
        let next = places.partition_point(|place| *place < from);
        places.get(next).is_some_and(|place| *place < from + part.len())
    };
    let of_line = lines_with(value, places).flat_map(move |(from, line)| {
        let sentences = sentences_of_line((from, line));
        let line = (line.len() < whole).then_some((from, line));
        line.into_iter().chain(sentences)
    });
    of_line
        .chain(json_strings(value))
        .filter(move |(from, part)| has_place(*from, part))
        .map(|(_, part)| part)
}

/// The lines that hold one of these places, which are in order.
fn lines_with<'t>(value: &'t [u8], places: &[usize]) -> impl Iterator<Item = (usize, &'t [u8])> {
    let lines = lines_near(value, places.iter().map(|place| *place..place + 1));
    lines.filter(|(_, line)| line.len() >= MIN_FRAGMENT_BYTES)
}

/// The lines that have a byte in one of these ranges, which are in order, each with the place where it begins.
pub(crate) fn lines_near(
    value: &[u8],
    mut ranges: impl Iterator<Item = Range<usize>>,
) -> impl Iterator<Item = (usize, &[u8])> {
    let (mut next, mut end) = (0, 0);
    std::iter::from_fn(move || {
        while next >= end {
            let range = ranges.next().filter(|range| range.start < value.len())?;
            if range.end <= next {
                continue;
            }
            // Lines up to `next` were returned. The search goes no further back, or many ranges in one long line
            // would each read it again.
            let between = value.get(next..range.start).unwrap_or_default();
            next += memchr::memrchr2(b'\n', b'\r', between).map_or(0, |line_break| line_break + 1);
            end = range.end.min(value.len());
        }
        let rest = value.get(next..)?;
        let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = (next, rest.get(..length)?);
        next += length + 1;
        Some(line)
    })
}

/// Of pieces that follow each other those that have a byte in one of these ranges, which are in order.
pub(crate) fn pieces_near<'t>(
    pieces: impl Iterator<Item = (usize, &'t [u8])>,
    ranges: impl Iterator<Item = Range<usize>>,
) -> impl Iterator<Item = (usize, &'t [u8])> {
    let mut ranges = ranges.peekable();
    pieces.filter(move |(from, piece)| {
        while ranges.next_if(|range| range.end <= *from).is_some() {}
        ranges.peek().is_some_and(|range| range.start < from + piece.len())
    })
}

/// The sentences of a value that are shorter than their line.
fn sentences(value: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    lines(value).flat_map(sentences_of_line)
}

fn sentences_of_line((from, line): (usize, &[u8])) -> impl Iterator<Item = (usize, &[u8])> {
    sentences_of(line).map(move |(at, sentence)| (from + at, sentence))
}

fn sentences_of(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    pieces(line, SENTENCE_ENDS, sentence_end)
        .filter(move |(_, sentence)| sentence.len() < line.len() && sentence.len() >= MIN_FRAGMENT_BYTES)
}

/// The lines of a value that could hold something, each with the place where it begins.
fn lines(value: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut from = 0;
    let lines = std::iter::from_fn(move || {
        let rest = value.get(from..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = (from, rest.get(..length)?);
        from += length + 1;
        Some(line)
    });
    lines.filter(|(_, line)| line.len() >= MIN_FRAGMENT_BYTES)
}

/// The strings of a JSON text and what stands between them, each with the place where it begins.
pub(crate) fn json_strings(value: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let strings = is_json(value).then(|| pieces(value, STRING_ENDS, string_end)).into_iter().flatten();
    let whole = value.len();
    strings.filter(move |(_, part)| part.len() < whole && part.len() >= MIN_FRAGMENT_BYTES)
}

/// Whether a value is read as JSON.
pub(super) fn is_json(value: &[u8]) -> bool {
    matches!(value.trim_ascii_start(), [b'{' | b'[', ..])
}

/// A string of JSON ends at a quote that is not escaped, and so does what stands between two.
fn string_end(value: &[u8], at: usize) -> Option<usize> {
    (value.get(at) == Some(&b'"') && !body::json::is_escaped(value, at)).then_some(at + 1)
}

/// Shorter fragments hold nothing that runs.
const MIN_FRAGMENT_BYTES: usize = 3;

/// The bytes that a sentence may end with, and a string of JSON.
const SENTENCE_ENDS: &ByteSet = &ByteSet::of(b".?!:>");
const STRING_ENDS: &ByteSet = &ByteSet::of(b"\"");

/// Where the next piece begins if one ends at this place.
type End = fn(&[u8], usize) -> Option<usize>;

/// A sentence ends with its stop and a space, or where a tag ends or the next one begins.
fn sentence_end(line: &[u8], at: usize) -> Option<usize> {
    match line.get(at)? {
        b'.' | b'?' | b'!' | b':' if line.get(at + 1) == Some(&b' ') => Some(at + 2),
        // But no arrow.
        b'>' => {
            let is_arrow = matches!(line.get(at.wrapping_sub(1)), Some(b'=' | b'-'));
            let is_between = line.get(at + 1).is_some_and(|next| *next != b'<');
            (is_between && !is_arrow).then_some(at + 1)
        }
        _ => None,
    }
}

/// Parts of a text; `ends` are the bytes at which `end` is asked.
fn pieces<'t>(text: &'t [u8], ends: &'static ByteSet, end: End) -> impl Iterator<Item = (usize, &'t [u8])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        if from >= text.len() {
            return None;
        }
        let start = from;
        let mut at = from;
        while let Some(ahead) = text.get(at..)?.iter().position(|byte| ends.has(*byte)) {
            at += ahead;
            if let Some(next) = end(text, at) {
                from = next;
                return Some((start, text.get(start..at).unwrap_or_default()));
            }
            at += 1;
        }
        from = text.len();
        Some((start, text.get(start..).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_near_are_told_once_each_and_in_order() {
        let value = b"first\nsecond\r\n\nthird";
        let lines = |ranges: &[Range<usize>]| {
            let lines = lines_near(value, ranges.iter().cloned());
            lines.map(|(from, line)| (from, String::from_utf8_lossy(line).into_owned())).collect::<Vec<_>>()
        };
        assert_eq!(lines(&[]), []);
        assert_eq!(lines(&[0..1, 3..4]), [(0, "first".to_owned())]);
        assert_eq!(lines(&[4..7, 8..9]), [(0, "first".to_owned()), (6, "second".to_owned())]);
        assert_eq!(lines(&[18..19, 19..20]), [(15, "third".to_owned())]);
        assert_eq!(lines(&[6..20, 20..64]).len(), 4);
        assert_eq!(lines(&[64..80, 80..128]), []);
    }

    /// Were the line searched for its begin again for each range, this would take minutes.
    #[test]
    fn many_ranges_of_a_long_line_are_read_once() {
        let value = vec![b'a'; 8 << 20];
        let ranges = (0..value.len()).step_by(4).map(|from| from..from + 1);
        assert_eq!(lines_near(&value, ranges).count(), 1);
    }
}
