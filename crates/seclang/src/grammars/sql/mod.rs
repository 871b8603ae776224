//! SQL: whether a value goes on with a statement that stands around it.
//!
//! A value that is put into a statement as text can only do harm by ending what it stands in: a number
//! or name at its beginning, or a string at one of its quotes. So the tokens after each of those places
//! are asked whether they continue a statement: with a condition, a set operation, a further statement,
//! a clause, a call, or a comment that cuts the rest off. A quote that closes a string which the value
//! itself opened is no such place, and so neither SQL nor program text that stands by itself is one.

mod continuation;
mod fold;
mod joint;
mod operand;
mod statement;
mod token;

use std::ops::Range;

use smallvec::SmallVec;

use self::continuation::{Before, MAX_NAME_BYTES, continuation, expression};
use self::fold::folded;
use self::joint::{has_query, joint};
use self::token::{Kind, Token, TokenReader, may_begin, may_continue, tokens, word as word_kind};
use super::fragment::strongest;
use super::{Differences, Finding, Question, Strength};

/// Bytes that are read from each place on at which a statement may go on.
const WINDOW_BYTES: usize = 512;
/// A line that begins with a number and goes on in the next line is no longer.
const MAX_NUMBER_LINE_BYTES: usize = 24;

/// How sure it is that a value is an SQL injection.
pub(crate) fn sql(value: &[u8], question: Question<'_>) -> Option<Finding> {
    let found = injection(value, &question.differences(value));
    if found.is_some_and(|found| found.strength == Strength::Certain) {
        return found;
    }
    let Some(text) = folded(value) else { return found };
    let folded_before = question.unmatched.and_then(folded);
    let question = Question { unmatched: folded_before.as_deref().or(question.unmatched), ..question };
    let in_folded = injection(&text, &Differences::between(value, &text).and(question.differences(&text)));
    // Where it begins in the value is not known then.
    found.max(Finding::at(in_folded.map(|found| found.strength), 0))
}

fn injection(value: &[u8], differences: &Differences) -> Option<Finding> {
    let is_new = |line: Range<usize>| {
        differences.touch(line.clone())
            || differences.touch(line.start.saturating_sub(WINDOW_BYTES)..line.end)
                && TokenReader::new(window(value, line.start))
                    .next()
                    .is_some_and(|first| first.kind == Kind::SetOperation)
    };
    let judge = |from, line: &[u8]| judge(line, value.get(..from).unwrap_or_default());
    let found = strongest(value, is_new, judge, |sentence| from_start(window(sentence, 0), || false));
    match found {
        Some(Finding { strength: Strength::Certain, .. }) => found,
        _ => found.max(joint(value, differences)).max(spread(value, differences)),
    }
}

fn judge(value: &[u8], before: &[u8]) -> Option<Finding> {
    let quotes = quotes(value);
    let is_own = || has_query(before.get(before.len().saturating_sub(WINDOW_BYTES)..).unwrap_or_default());
    Finding::at(from_start(window(value, 0), is_own), 0)
        .into_iter()
        .chain(quotes.iter().filter(|at| may_continue(window(value, **at + 1))).filter_map(|&at| {
            let before = before_quote(value, at, 0);
            Finding::at(behind_quote(value, at, before), at)
        }))
        .max()
}

/// What goes on behind a quote of a value.
fn behind_quote(value: &[u8], at: usize, before: Before) -> Option<Strength> {
    let tokens = tokens(window(value, at + 1));
    let found = continuation(&tokens, before);
    // Between backticks stand names, which nobody compares as texts; in Markdown words do.
    let is_compared =
        tokens.first().is_some_and(|first| matches!(first.kind, Kind::Comparison | Kind::Arithmetic));
    let is_name = value.get(at) == Some(&b'`') && is_compared;
    if is_name { found.min(Some(Strength::Likely)) } else { found }
}

/// A quote of a value, in the line that begins there.
fn before_quote(value: &[u8], at: usize, line_begin: usize) -> Before {
    let last = || value.get(line_begin..at)?.iter().rfind(|byte| !byte.is_ascii_whitespace());
    let is_behind_word =
        || last().is_some_and(|byte| byte.is_ascii_alphanumeric() || b")'\"`".contains(byte));
    Before::Quote {
        bytes: at - line_begin,
        value_bytes: value.len(),
        is_spaced: is_spaced(value, at),
        ends_raw_string: value.get(at) == Some(&b'"') && at > 0 && !is_behind_word(),
    }
}

/// Whether a space follows a quote, or what ends an expression or a tag.
fn is_spaced(value: &[u8], at: usize) -> bool {
    value.get(at + 1).is_some_and(|byte| *byte <= b' ' || matches!(byte, b')' | b'/'))
}

/// The first quote of a line, or the first short line that begins with a number, behind which the next lines certainly
/// go on with the statement around the value. Databases read line breaks as spaces.
fn spread(value: &[u8], differences: &Differences) -> Option<Finding> {
    let mut line_begin = 0;
    loop {
        let rest = value.get(line_begin..)?;
        line_begin += rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let length = memchr::memchr2(b'\n', b'\r', value.get(line_begin..)?)?;
        let line_end = line_begin + length;
        if !differences.touch(line_begin..line_end + WINDOW_BYTES) {
            line_begin = line_end;
            continue;
        }
        let goes_on = |at: &usize| {
            let before = before_quote(value, *at, line_begin);
            // Else it was read with its line.
            line_end - at <= WINDOW_BYTES
                && may_continue(window(value, at + 1))
                && behind_quote(value, *at, before) == Some(Strength::Certain)
        };
        let line = value.get(line_begin..line_end)?;
        let begins_with_number = || {
            let text = line.trim_ascii();
            text.first().is_some_and(u8::is_ascii_digit) && text.len() <= MAX_NUMBER_LINE_BYTES
        };
        if begins_with_number() && from_start(window(value, line_begin), || false) == Some(Strength::Certain)
        {
            return Finding::at(Some(Strength::Certain), line_begin);
        }
        if let Some(at) = quotes(line).into_iter().map(|at| line_begin + at).find(goes_on) {
            return Finding::at(Some(Strength::Certain), at);
        }
        line_begin = line_end;
    }
}

fn window(value: &[u8], from: usize) -> &[u8] {
    let rest = value.get(from..).unwrap_or_default();
    rest.get(..WINDOW_BYTES).unwrap_or(rest)
}

/// Whether a value begins with two words that no statement goes on with. Most texts do.
fn is_sentence(value: &[u8]) -> bool {
    let mut words = value.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let mut is_plain = |at_least: usize| {
        words.next().is_some_and(|word| {
            word.len() >= at_least
                && word.iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0xc3)
                && matches!(word_kind(word), Kind::Name)
        })
    };
    is_plain(2) && is_plain(2)
}

/// The value ends a number, a name or nothing; `is_own` says whether a statement of the text's own stands before it.
fn from_start(value: &[u8], is_own: impl FnOnce() -> bool) -> Option<Strength> {
    if is_sentence(value) {
        return None;
    }
    if !may_begin(value) {
        return None;
    }
    let all = tokens(value);
    let mut rest = all.as_slice();
    if let Some(strength) = expression(rest) {
        return Some(strength);
    }
    while let [Token { kind: Kind::Arithmetic, .. }, after @ ..] = rest {
        rest = after;
    }
    match rest {
        [Token { kind: Kind::Number | Kind::Constant | Kind::Variable, .. }, after @ ..] => {
            continuation(after, Before::Number)
        }
        [Token { kind: Kind::Name, .. }, after @ ..] => continuation(after, Before::Name),
        // A line of a statement that stands by itself.
        [Token { kind: Kind::SetOperation, .. }, ..] if is_own() => None,
        _ => continuation(rest, Before::Nothing),
    }
}

/// The quotes at which a string around the value may end: all but those that close what another quote
/// of the value opened. An apostrophe within a word opens nothing.
fn quotes(value: &[u8]) -> SmallVec<[usize; 16]> {
    let mut found = SmallVec::new();
    let mut open = None;
    // Within quotes of another kind, as a statement in a text of a program or between the backticks of Markdown.
    let mut inner = None;
    let mut from = 0;
    while let Some(at) = next_quote(value, from) {
        from = at + 1;
        let byte = value.get(at).copied();
        let letter = |at: usize| value.get(at).is_some_and(u8::is_ascii_alphabetic);
        let is_escaped = at > 0 && value.get(at - 1) == Some(&b'\\');
        let is_in_word = byte == Some(b'\'') && at > 0 && letter(at - 1) && letter(at + 1);
        // Doubled quotes are one in a string: behind each one of a run stands what does two further on.
        let is_in_run = || {
            at > MAX_NAME_BYTES
                && value.get(at + 1..at + 5).is_some_and(|run| run.iter().all(|next| Some(*next) == byte))
        };
        if is_escaped || is_in_word {
            found.push(at);
            continue;
        }
        match (open, inner) {
            (Some(_), _) if open == byte => (open, inner) = (None, None),
            (Some(_), Some(_)) if inner == byte => inner = None,
            _ => {
                if !is_in_run() {
                    found.push(at);
                }
                if open.is_none() { open = byte } else { inner = inner.or(byte) }
            }
        }
    }
    found
}

fn next_quote(value: &[u8], from: usize) -> Option<usize> {
    memchr::memchr3(b'\'', b'"', b'`', value.get(from..)?).map(|at| from + at)
}

#[cfg(test)]
mod tests;
