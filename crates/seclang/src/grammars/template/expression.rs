//! Where the expressions of a text stand: between the marks of template engines.

use std::ops::Range;

use crate::grammars::byte_pairs::BytePairs;
use crate::grammars::places::{Find, Places};

/// Bytes of each that are read.
const MAX_EXPRESSION_BYTES: usize = 1024;
/// Most brackets that are read to find the end of a single expression. Where there are more, the ends of many
/// expressions are found in one pass.
const MAX_BRACKETS: usize = 64;
/// Openers whose ends are looked for at once.
const SEARCHED_BYTES: usize = 4096;

/// How an engine marks an expression.
#[derive(Clone, Copy, Debug)]
struct Mark {
    open: &'static [u8],
    end: End,
}

/// What ends an expression.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The first of these texts, by their index.
    First(usize),
    /// The bracket that closes the last one of the mark: brackets of the same kind nest.
    Bracket,
}

/// The texts that end expressions.
const ENDS: [Find; 4] = [
    |text| memchr::memmem::find(text, b"}}"),
    |text| memchr::memmem::find(text, b"%}"),
    |text| memchr::memmem::find(text, b"%>"),
    |text| memchr::memmem::find(text, b"]]"),
];

/// What marks of two bytes and more begin with.
const BEGINNINGS: BytePairs = BytePairs::of(&[
    (b"{$#*@~%", b"{"),
    (b"{<", b"%"),
    (b"<", b"#"),
    (b"[", b"[="),
    (b"$", b"!"),
    (b"#", b"s"),
    (b"@", b"("),
    (b"_", b"_"),
]);

/// The mark that a text begins with.
fn mark(text: &[u8]) -> Option<Mark> {
    let (open, end): (&[u8], _) = match text {
        [b'{', b'{', ..] => (b"{{", End::First(0)),
        [b'{', b'%', ..] => (b"{%", End::First(1)),
        [b'{', ..] => (b"{", End::Bracket),
        [b'<', b'%', ..] => (b"<%", End::First(2)),
        [b'<', b'#', ..] => (b"<#", End::Bracket),
        [b'[', b'[', ..] => (b"[[", End::First(3)),
        [b'[', b'=', ..] => (b"[=", End::Bracket),
        [b'$', b'{', ..] => (b"${", End::Bracket),
        [b'$', b'!', b'{', ..] => (b"$!{", End::Bracket),
        [b'#', b'{', ..] => (b"#{", End::Bracket),
        [b'#', b's', b'e', b't', b'(', ..] => (b"#set(", End::Bracket),
        [b'*', b'{', ..] => (b"*{", End::Bracket),
        [b'@', b'{', ..] => (b"@{", End::Bracket),
        [b'@', b'(', ..] => (b"@(", End::Bracket),
        [b'~', b'{', ..] => (b"~{", End::Bracket),
        [b'%', b'{', ..] => (b"%{", End::Bracket),
        [b'_', b'_', b'$', b'{', ..] => (b"__${", End::Bracket),
        _ => return None,
    };
    Some(Mark { open, end })
}

/// One expression: its mark, and what stands behind it up to its end.
pub(super) struct MarkedExpression {
    pub(super) mark: &'static [u8],
    pub(super) inner: Range<usize>,
}

/// The expressions of a text in the order of their beginnings. They overlap, and yet the text is read a few times at
/// most.
pub(super) struct Expressions<'v> {
    text: &'v [u8],
    at: usize,
    pairs: Places<'v>,
    /// `None` if those between single braces are not among them.
    braces: Option<Places<'v>>,
    ends: [Places<'v>; 4],
    brackets: Brackets<'v>,
}

impl<'v> Expressions<'v> {
    /// All of them.
    pub(super) fn new(text: &'v [u8]) -> Self {
        let places = |find| Places::new(text, find);
        let braces = places(|text| memchr::memchr(b'{', text));
        let (pairs, ends) = (places(|text| BEGINNINGS.find(text)), ENDS.map(places));
        Self { text, at: 0, pairs, braces: Some(braces), ends, brackets: Brackets::new(text) }
    }

    /// But for those between single braces, as JSON, CSS and program text are.
    pub(super) fn beside_braces(text: &'v [u8]) -> Self {
        Self { braces: None, ..Self::new(text) }
    }
}

impl Iterator for Expressions<'_> {
    type Item = MarkedExpression;

    fn next(&mut self) -> Option<MarkedExpression> {
        loop {
            let brace = self.braces.as_mut().and_then(|braces| braces.next(self.at));
            self.at = self.pairs.next(self.at).into_iter().chain(brace).min()?;
            let Some(Mark { open, end }) = mark(self.text.get(self.at..)?) else {
                self.at += 1;
                continue;
            };
            self.at += open.len();
            let begin = self.at;
            let last = (begin + MAX_EXPRESSION_BYTES).min(self.text.len());
            let end = match end {
                End::First(text) => self.ends.get_mut(text).and_then(|ends| ends.within(begin..last)),
                // A bracket is the first or the last byte of each of these marks.
                End::Bracket if open == b"<#" || open == b"[=" => self.brackets.end(begin - 2),
                End::Bracket => self.brackets.end(begin - 1),
            };
            return Some(MarkedExpression { mark: open, inner: begin..end.unwrap_or(last).min(last) });
        }
    }
}

/// The places where brackets close. Brackets of one kind do not affect those of another.
struct Brackets<'v> {
    text: &'v [u8],
    searched: Range<usize>,
    /// For each place that was searched how far behind it the bracket there closes; 0 if it does not, or not near.
    lengths: Vec<u16>,
    /// The open ones of each kind, by their distance from the first place that was searched.
    open: [Vec<u16>; 4],
}

/// The kind of a bracket, from 1 on, and whether it closes; 0 for other bytes.
const BRACKETS: [u8; 256] = {
    let mut table = [0; 256];
    let brackets = b"{}()[]<>";
    let mut at = 0;
    while at < brackets.len() {
        table[brackets[at] as usize] = at as u8 + 2;
        at += 1;
    }
    table
};

impl<'v> Brackets<'v> {
    fn new(text: &'v [u8]) -> Self {
        Self { text, searched: 0..0, lengths: Vec::new(), open: Default::default() }
    }

    /// The bracket that closes the one at a place, if it is near.
    fn end(&mut self, place: usize) -> Option<usize> {
        if !self.searched.contains(&place) {
            if let Some(end) = self.end_by_itself(place) {
                return end;
            }
            self.search(place);
        }
        let length = *self.lengths.get(place.checked_sub(self.searched.start)?)?;
        (length > 0).then(|| place + usize::from(length))
    }

    /// The same, without what else is open; `None` if there are too many brackets to tell.
    fn end_by_itself(&self, place: usize) -> Option<Option<usize>> {
        let open = *self.text.get(place)?;
        let close = match open {
            b'(' => b')',
            // `<>`, `[]`, `{}`
            _ => open + 2,
        };
        // A mark has up to two bytes from its bracket on.
        let until = (place + 2 + MAX_EXPRESSION_BYTES).min(self.text.len());
        let mut brackets = memchr::memchr2_iter(open, close, self.text.get(place..until)?);
        let mut depth = 0usize;
        for _ in 0..MAX_BRACKETS {
            let Some(at) = brackets.next().map(|ahead| place + ahead) else { return Some(None) };
            if self.text.get(at) == Some(&open) {
                depth += 1;
            } else if depth > 1 {
                depth -= 1;
            } else {
                return Some(Some(at));
            }
        }
        None
    }

    fn search(&mut self, from: usize) {
        let until = (from + SEARCHED_BYTES).min(self.text.len());
        self.searched = from..until;
        self.lengths.clear();
        self.lengths.resize(until - from, 0);
        self.open.iter_mut().for_each(Vec::clear);
        // Those that open last may close behind them.
        let end = (until + MAX_EXPRESSION_BYTES).min(self.text.len());
        for (at, byte) in (0..).zip(self.text.get(from..end).unwrap_or_default()) {
            let bracket = BRACKETS.get(usize::from(*byte)).copied().unwrap_or_default();
            if bracket == 0 {
                continue;
            }
            let Some(open) = self.open.get_mut(usize::from(bracket / 2 - 1)) else { continue };
            if bracket % 2 == 0 {
                open.push(at);
            } else if let Some(opener) = open.pop()
                && let Some(length) = self.lengths.get_mut(usize::from(opener))
            {
                *length = at - opener;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_numbers::TestNumbers;

    /// The definition, applied to each expression without the others.
    fn naive(text: &[u8]) -> Vec<(&'static [u8], Range<usize>)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < text.len() {
            let Some(Mark { open, end }) = mark(&text[at..]) else {
                at += 1;
                continue;
            };
            let begin = at + open.len();
            let inner = &text[begin..(begin + MAX_EXPRESSION_BYTES).min(text.len())];
            let length = match end {
                End::First(nth) => ENDS[nth](inner),
                End::Bracket => {
                    let bracket = *open.iter().find(|byte| b"{([<".contains(byte)).unwrap();
                    let close = b"})]>"[b"{([<".iter().position(|byte| *byte == bracket).unwrap()];
                    let mut depth = 1;
                    inner.iter().position(|byte| {
                        depth += i32::from(*byte == bracket) - i32::from(*byte == close);
                        depth == 0
                    })
                }
            };
            found.push((open, begin..begin + length.unwrap_or(inner.len())));
            at = begin;
        }
        found
    }

    #[test]
    fn expressions_are_those_of_each_mark_by_itself() {
        let mut numbers = TestNumbers(7);
        let pieces = [
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            "<",
            ">",
            "$",
            "%",
            "=",
            "#",
            "#set(",
            "@",
            "_",
            "__${",
            "*",
            "~",
            "!",
            "a",
            "some words ",
            "\n",
        ];
        let mut ran = 0;
        for round in 0..600 {
            let length = 1 + numbers.below(if round % 20 == 0 { 9000 } else { 40 });
            let text: String = (0..length).map(|_| pieces[numbers.below(pieces.len())]).collect();
            let found: Vec<_> =
                Expressions::new(text.as_bytes()).map(|found| (found.mark, found.inner)).collect();
            ran += found.len();
            let mut expected = naive(text.as_bytes());
            assert_eq!(found, expected, "{text}");
            let found = Expressions::beside_braces(text.as_bytes()).map(|found| (found.mark, found.inner));
            expected.retain(|(mark, _)| *mark != b"{");
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        }
        assert!(ran > 20_000, "{ran}");
    }
}
