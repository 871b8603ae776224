//! Which parts of a text are new: of most texts a decoding changes a few bytes only, and what it left as it was need
//! not be judged again.

use std::ops::Range;

use super::fragment::is_json;
use super::spans_lines;

/// Lines of each text among which they may go on alike, whatever their number.
const TRIED_LINES: usize = 4;
/// Lines in a row that may have changed, each into one.
const CHANGED_LINES: usize = 256;
/// Bytes behind a line break that are alike if the rest of the line is.
const ALIKE_BYTES: usize = 24;

/// The parts of a text in which it differs from texts that were judged before.
pub(super) struct Differences(Vec<Vec<Range<usize>>>);

impl Differences {
    /// All of a text: nothing of it was judged before.
    pub(super) const ALL: Self = Self(Vec::new());

    /// Between `known`, which was judged, and `text`: lines that stand in both in the same order are none.
    pub(super) fn between(known: &[u8], text: &[u8]) -> Self {
        // Else each is taken apart in another way.
        let are_like = spans_lines(known) == spans_lines(text) && !is_json(text);
        if are_like { Self(vec![differences(known, text)]) } else { Self::ALL }
    }

    /// What is new compared with one and with the other.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Whether a part of the text, or what stands right before or behind it, is new. What is not has been judged with
    /// a text that holds it, too.
    pub(super) fn touch(&self, part: Range<usize>) -> bool {
        self.0.iter().all(|differences| {
            let next = differences.partition_point(|difference| difference.end < part.start);
            differences.get(next).is_some_and(|difference| difference.start <= part.end)
        })
    }
}

fn differences(known: &[u8], text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut at_known, mut at) = (0, 0);
    loop {
        let (rest_known, rest) = (tail(known, at_known), tail(text, at));
        let alike = alike(rest_known, rest);
        let (rest_known, rest) = (tail(rest_known, alike), tail(rest, alike));
        if rest_known.is_empty() && rest.is_empty() {
            return found;
        }
        at_known += alike;
        at += alike;
        let Some((skipped_known, skipped)) = next_alike(rest_known, rest) else {
            found.push(at..text.len());
            return found;
        };
        found.push(at..at + skipped);
        at_known += skipped_known;
        at += skipped;
    }
}

/// The line breaks at which two texts go on alike: among the next ones, or behind as many lines of each. What is tried
/// is at most in proportion to what is skipped.
fn next_alike(known: &[u8], text: &[u8]) -> Option<(usize, usize)> {
    let breaks = |text| memchr::memchr_iter(b'\n', text);
    let begin = |text| head(text, ALIKE_BYTES);
    let are_alike = |(at_known, at): &(usize, usize)| begin(tail(known, *at_known)) == begin(tail(text, *at));
    let near = breaks(text)
        .take(TRIED_LINES)
        .flat_map(|at| breaks(known).take(TRIED_LINES).map(move |at_known| (at_known, at)));
    near.into_iter()
        .find(are_alike)
        .or_else(|| breaks(known).zip(breaks(text)).take(CHANGED_LINES).find(are_alike))
}

/// Bytes that two texts begin with alike.
fn alike(one: &[u8], other: &[u8]) -> usize {
    const CHUNK_BYTES: usize = 64;
    let chunks = one.chunks_exact(CHUNK_BYTES).zip(other.chunks_exact(CHUNK_BYTES));
    let at = CHUNK_BYTES * chunks.take_while(|(one, other)| one == other).count();
    at + tail(one, at).iter().zip(tail(other, at)).take_while(|(one, other)| one == other).count()
}

fn head(text: &[u8], length: usize) -> &[u8] {
    text.get(..length).unwrap_or(text)
}

fn tail(text: &[u8], from: usize) -> &[u8] {
    text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammars::{Finding, Question, Strength, markup, sql, template};
    use crate::test_numbers::TestNumbers;

    #[test]
    fn differences_stand_where_texts_differ() {
        let line = "a line of words that both texts have\n";
        let (head, tail) = (line.repeat(3), format!("{line}and another one behind it\n"));
        let begin = head.len();
        let comments = "# a comment\n".repeat(9);
        for (known, text, expected) in [
            (String::new(), "a".to_owned(), (0, 1)),
            ("a".to_owned(), String::new(), (0, 0)),
            (format!("{head}a+b\n{tail}"), format!("{head}a b\n{tail}"), (begin + 1, begin + 3)),
            (format!("{head}a%2bb\n{tail}"), format!("{head}a+b\n{tail}"), (begin + 1, begin + 3)),
            (format!("{head}%0a{tail}"), format!("{head}\n{tail}"), (begin, begin + line.len())),
            (format!("{head}a%0a"), format!("{head}a\n"), (begin + 1, begin + 2)),
            (format!("{head}/*\n\n*/{tail}"), format!("{head} {tail}"), (begin, begin + line.len())),
            (
                format!("{head}{comments}{tail}"),
                format!("{head}{}{tail}", " \n".repeat(9)),
                (begin, begin + 17),
            ),
        ] {
            let (from, until) = expected;
            let found = differences(known.as_bytes(), text.as_bytes());
            assert_eq!(found, [Range { start: from, end: until }], "{known:?} -> {text:?}");
        }
        assert!(differences(head.as_bytes(), head.as_bytes()).is_empty());
        let differences = Differences::between(b"abcdef", b"abcxef");
        assert!(!differences.touch(0..2) && differences.touch(0..3) && differences.touch(5..6));
        let both = Differences::between(b"abcdef", b"abcxef").and(Differences::between(b"abcxef", b"abcxef"));
        assert!(!both.touch(0..6) && Differences::ALL.touch(0..1));
    }

    #[test]
    fn what_is_no_difference_stands_in_both_texts() {
        let mut numbers = TestNumbers(5);
        let lines = ["", "a", "some words of a line", "%41", "a+b", "more words than there were before\t"];
        let mut ran = 0;
        for _ in 0..2000 {
            let mut known = Vec::new();
            for _ in 0..numbers.below(30) {
                known.extend_from_slice(lines[numbers.below(lines.len())].as_bytes());
                known.push(b'\n');
            }
            let mut text = known.clone();
            for _ in 0..numbers.below(4) {
                let at = numbers.below(text.len() + 1);
                let end = (at + numbers.below(12)).min(text.len());
                text.splice(at..end, lines[numbers.below(lines.len())].bytes());
            }
            let differences = Differences::between(&known, &text);
            let mut from = 0;
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                let part = from..from + line.len();
                from = part.end;
                if !differences.touch(part) {
                    let known_lines = known.split_inclusive(|byte| *byte == b'\n');
                    assert!(known_lines.filter(|known| *known == line).count() > 0);
                    ran += 1;
                }
            }
        }
        assert!(ran > 10_000, "{ran}");
    }

    /// What texts of the test below are put together from.
    const PIECES: &[&str] = &[
        "some words ",
        "and more of them\n",
        "\n",
        "\n\n",
        "  ",
        "\t",
        "%20",
        "%0a",
        "+",
        "'",
        "\"",
        "`",
        "%27",
        "or ",
        "1=1",
        "x' or ",
        "union ",
        "select 1,2",
        "/*",
        "*/",
        "/**/",
        "select",
        "# ",
        "-- ",
        "except ",
        "(",
        ")",
        "<img src=x ",
        "onerror=alert(1)>",
        "%3c",
        "<",
        ">",
        "javascript:",
        "&lt;",
        "{{",
        "{",
        "7*7",
        "}}",
        "%7b",
        "${",
        "config.items",
        "\\x27",
        "\\u003c",
        "\0",
        "{\"a\": ",
        "a line that is long enough to be one of a text\n",
    ];

    #[test]
    fn a_statement_that_a_decoding_took_away_excuses_no_line_behind_it() {
        let lines = "some words that make a line\n".repeat(3);
        for injection in ["and 5 union select 1,2 from t", "except select 1,2 from t"] {
            let text = |begin: &str, end: &str| format!("{lines}{begin} select {end}\n{injection}\n{lines}");
            let (known, decoded) = (text("%2f*", "*%2f"), text("/*", "*/"));
            let strength = |text: &str, known: Option<&str>| {
                let question = Question { unmatched: known.map(str::as_bytes), ..Question::ANY };
                sql(text.as_bytes(), question).map(|found| found.strength)
            };
            assert!(strength(&known, None) < Some(Strength::Certain), "{known}");
            assert_eq!(strength(&decoded, None), Some(Strength::Certain), "{decoded}");
            assert_eq!(strength(&decoded, Some(&known)), Some(Strength::Certain), "{decoded}");
        }
    }

    #[test]
    fn what_a_decoding_left_as_it_was_need_not_be_judged_again() {
        type Judge = fn(&[u8], Question<'_>) -> Option<Finding>;
        let judges: [(&str, Judge); 3] = [("sql", sql), ("markup", markup), ("template", template)];
        let decodings = ["urlDecodeUni", "htmlEntityDecode", "jsDecode", "removeNulls"];
        let mut numbers = TestNumbers(9);
        let (mut judged, mut found) = (0, 0);
        for round in 0..6_000 {
            let length = 2 + numbers.below(if round % 4 == 0 { 150 } else { 30 });
            let text: String = (0..length).map(|_| PIECES[numbers.below(PIECES.len())]).collect();
            for decoding in decodings {
                let mut decoded = Vec::new();
                if !(crate::transformations::find(decoding).unwrap().apply)(text.as_bytes(), &mut decoded) {
                    continue;
                }
                for (name, judge) in judges {
                    let strength =
                        |value: &[u8], question| judge(value, question).map(|found| found.strength);
                    let before = strength(text.as_bytes(), Question::ANY);
                    let whole = strength(&decoded, Question::ANY);
                    for at_least in [Strength::Possible, Strength::Likely, Strength::Certain] {
                        if before >= Some(at_least) {
                            continue;
                        }
                        let new = strength(&decoded, Question { unmatched: Some(text.as_bytes()), at_least });
                        let is_match = whole >= Some(at_least);
                        assert_eq!(
                            new >= Some(at_least),
                            is_match,
                            "{name} {at_least:?} after {decoding}: {text:?}"
                        );
                        judged += 1;
                        found += usize::from(is_match);
                    }
                }
            }
        }
        assert!(judged > 20_000 && found > 500, "{found} of {judged}");
    }
}
