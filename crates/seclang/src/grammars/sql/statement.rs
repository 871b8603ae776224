//! What ends a statement and begins another: a further statement, a clause, a comment that cuts the rest off.

use super::continuation::{Before, MAX_NAME_BYTES, READERS, WEAPONS, after, calls, condition, is_word};
use super::operand::{Operand, operand};
use super::token::{FURTHER, Kind, Token};
use crate::grammars::Strength;

/// Tokens of a further statement behind which a comment cuts off the rest.
const MAX_CUT_TOKENS: usize = 16;

/// `; drop table users`.
pub(super) fn further_statement(tokens: &[Token<'_>], before: Before) -> Option<Strength> {
    let tokens = after(tokens, Kind::Semicolon);
    let Some((first, rest)) = tokens.split_first() else {
        return before.is_quoted().then_some(Strength::Possible);
    };
    if before.is_quoted() && is_cut(tokens) {
        return Some(Strength::Certain);
    }
    let second = rest.first();
    let second_is = |words: &[&str]| second.is_some_and(|token| words.iter().any(|word| token.is(word)));
    let has = |word: &str| rest.iter().any(|token| token.is(word));
    let is_ended = before.is_ended();
    let is_number = |token: &Token<'_>| token.kind == Kind::Number;
    let is_statement = match first.kind {
        // `table users`
        Kind::Query if first.is("table") && is_ended && rest.len() == 1 => {
            second.is_some_and(|name| name.kind == Kind::Name)
        }
        Kind::Name => is_ended && FURTHER.iter().any(|(word, nexts)| first.is(word) && second_is(nexts)),
        Kind::Statement if first.is("kill") => is_ended && rest.len() == 1 && second.is_some_and(is_number),
        Kind::Comment { is_last: true } => {
            return is_ended.then_some(Strength::Certain);
        }
        Kind::Query => {
            calls(rest, WEAPONS)
                || calls(rest, READERS)
                || has("from")
                || second.is_some_and(|token| {
                    matches!(token.kind, Kind::Number | Kind::Text { .. } | Kind::Variable)
                })
        }
        Kind::Statement => match &*first.text.to_ascii_lowercase() {
            b"drop" | b"alter" | b"create" | b"truncate" | b"rename" | b"backup" => second_is(&[
                "table",
                "database",
                "user",
                "view",
                "index",
                "schema",
                "procedure",
                "function",
                "login",
                "role",
                "trigger",
                "column",
                "or",
                "extension",
                "alias",
            ]),
            b"insert" | b"merge" | b"replace" => second_is(&["into"]),
            b"delete" => second_is(&["from"]),
            b"update" => has("set"),
            b"exec" | b"execute" | b"call" | b"prepare" | b"handler" => {
                second.is_some_and(|token| matches!(token.kind, Kind::Name | Kind::Open | Kind::Variable))
                    && rest.len() >= 2
            }
            b"declare" | b"set" => {
                second.is_some_and(|token| token.kind == Kind::Variable) || (has("=") && rest.len() >= 3)
            }
            b"waitfor" => second_is(&["delay", "time"]),
            b"shutdown" => rest.first().is_none_or(|token| !matches!(token.kind, Kind::Name)),
            b"copy" => has("from") || has("to"),
            b"attach" => second_is(&["database"]),
            b"grant" | b"revoke" => has("on") || has("to"),
            b"if" | b"begin" | b"do" | b"load" => calls(rest, WEAPONS) || has("select") || has("waitfor"),
            _ => false,
        },
        _ => false,
    };
    is_statement.then_some(Strength::Certain)
}

/// Whether a comment cuts off what stands behind a statement or an operand: whatever that is, nothing else ends so.
pub(super) fn is_cut(tokens: &[Token<'_>]) -> bool {
    tokens.len() <= MAX_CUT_TOKENS
        && tokens.last().is_some_and(|last| {
            last.kind == (Kind::Comment { is_last: true })
                && last.text.strip_prefix(b"--").is_some_and(is_blank)
        })
}

/// `order by 3--`, `having 1=1`, `into outfile '…'`.
pub(super) fn clause(first: &Token<'_>, rest: &[Token<'_>], before: Before) -> Option<Strength> {
    let (is_quoted, is_ended) = (before.is_quoted(), before.is_ended());
    let is_all =
        |rest: &[Token<'_>]| matches!(rest, [] | [Token { kind: Kind::Comment { is_last: true }, .. }]);
    let ended_strength = if is_quoted { Strength::Certain } else { Strength::Likely };
    match &*first.text.to_ascii_lowercase() {
        b"order" | b"group" if is_word(rest, "by") => {
            let (what, after) = operand(rest.get(1..)?)?;
            let is_cut = matches!(after, [Token { kind: Kind::Comment { .. } | Kind::Comma, .. }, ..]);
            let is_having = after.iter().any(|token| token.is("having"));
            match what {
                Operand::Query | Operand::Call { is_known: true } => Some(Strength::Certain),
                Operand::Literal if is_ended => Some(Strength::Certain),
                _ if is_ended && (is_cut || is_having) => Some(Strength::Certain),
                Operand::Literal => Some(Strength::Likely),
                _ => Some(Strength::Possible),
            }
        }
        // Statements that are written in several lines have such a line.
        b"having" | b"where" if matches!(before, Before::Nothing) => {
            let compares = matches!(operand(rest)?, (Operand::Literal | Operand::Text, _));
            let found = condition(rest, before);
            if compares { found } else { found.min(Some(Strength::Possible)) }
        }
        b"having" | b"where" => condition(rest, before),
        b"for" if is_ended && is_word(rest, "update") => {
            rest.get(1..).is_some_and(is_all).then_some(ended_strength)
        }
        b"offset" if is_ended => match rest {
            [Token { kind: Kind::Number, .. }, rows, ..] if rows.is("rows") || rows.is("row") => {
                Some(ended_strength)
            }
            _ => None,
        },
        b"limit" if is_ended => match rest {
            [Token { kind: Kind::Number, .. }, Token { kind: Kind::Comment { is_last: true }, .. }]
                if is_quoted =>
            {
                Some(Strength::Certain)
            }
            [Token { kind: Kind::Number, .. }, next, ..] if !matches!(next.kind, Kind::Name) => {
                Some(Strength::Likely)
            }
            _ => None,
        },
        b"into" => {
            let is_file = rest.first().is_some_and(|token| token.is("outfile") || token.is("dumpfile"));
            is_file.then_some(Strength::Certain)
        }
        b"procedure" => is_word(rest, "analyse").then_some(Strength::Certain),
        _ => None,
    }
}

/// Whether a comment says nothing.
fn is_blank(comment: &[u8]) -> bool {
    comment.iter().all(|byte| b" +-\t".contains(byte))
}

/// `admin'--`: the statement's rest is a comment.
pub(super) fn cut_off(comment: &Token<'_>, before: Before) -> Option<Strength> {
    let is_bare = comment.text.len() <= 4;
    // A string of dashes ends with a quote.
    if comment.text.iter().any(|byte| b"'\"`".contains(byte)) {
        return None;
    }
    match (before, comment.text) {
        // A raw string of a program ends so.
        (Before::Quote { bytes: 0, value_bytes, .. }, [b'#', ..]) if value_bytes > 2 => {
            Some(Strength::Likely)
        }
        (Before::Quote { ends_raw_string: true, .. }, [b'#', ..]) => Some(Strength::Likely),
        (Before::Quote { bytes, is_spaced, .. }, [b'#', after @ ..]) => {
            let is_end = bytes <= MAX_NAME_BYTES || is_spaced && is_blank(after);
            (is_bare && is_end).then_some(Strength::Certain)
        }
        // Behind words too nothing but an injection ends a line so.
        (Before::Quote { bytes, .. }, [_, _, after @ ..]) if bytes > MAX_NAME_BYTES => {
            Some(if is_bare && is_blank(after) { Strength::Certain } else { Strength::Possible })
        }
        (Before::Quote { .. }, [b'-', b'-', after @ ..]) => {
            let is_comment = after.first().is_none_or(|byte| !byte.is_ascii_alphanumeric());
            Some(if is_comment && after.len() <= 16 { Strength::Certain } else { Strength::Possible })
        }
        (Before::Quote { .. }, [b'/', b'*', ..]) => {
            Some(if is_bare { Strength::Certain } else { Strength::Likely })
        }
        (Before::Number, [b'-', b'-'] | [b'-', b'-', b' ' | b'+', ..] | [b'/', b'*']) => {
            Some(Strength::Likely)
        }
        _ => None,
    }
}
