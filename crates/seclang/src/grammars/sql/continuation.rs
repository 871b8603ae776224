//! What tokens do to the statement before them.

use super::operand::{Operand, operand, past_sum};
use super::statement::{clause, cut_off, further_statement};
use super::token::{Kind, Token};
use crate::grammars::Strength;

/// What the value ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    /// A string, at a quote with so many bytes of the value before it.
    Quote {
        bytes: usize,
        value_bytes: usize,
        /// A space follows.
        is_spaced: bool,
        /// With a `#` behind it, it is how a text in a program ends: no word stands before it.
        ends_raw_string: bool,
    },
    Number,
    Name,
    Nothing,
}

impl Before {
    pub(super) fn is_quoted(self) -> bool {
        matches!(self, Self::Quote { .. })
    }

    /// Whether the value ends a string or a number: what it goes on with is no sentence then.
    pub(super) fn is_ended(self) -> bool {
        matches!(self, Self::Quote { .. } | Self::Number)
    }
}

/// Longer texts before a quote and a comment are no user names.
pub(super) const MAX_NAME_BYTES: usize = 48;
/// Values of quotes and signs alone are not longer.
const MAX_SIGNS_BYTES: usize = 16;

/// Nobody opens a quote behind `' or` and closes it so late.
const MIN_OPEN_BYTES: usize = 384;

/// Functions that wait, fail or reach out on purpose: nobody calls them in a value.
pub(super) const WEAPONS: &[&str] = &[
    "sleep",
    "benchmark",
    "pg_sleep",
    "extractvalue",
    "updatexml",
    "load_file",
    "xp_cmdshell",
    "xp_dirtree",
    "receive_message",
    "randomblob",
    "get_host_address",
    "httpuritype",
    "xmltype",
    "drithsx",
    "name_const",
    "gtid_subset",
    "geometrycollection",
    "multipoint",
    "polygon",
    "linestring",
    "sysdate",
    "load_extension",
    "lo_import",
    "lo_export",
    "pg_read_file",
    "query_to_xml",
    "database_to_xml",
    "sys_eval",
    "sys_exec",
];

/// Functions that read or take apart what the database knows.
pub(super) const READERS: &[&str] = &[
    "version",
    "user",
    "database",
    "schema",
    "current_user",
    "session_user",
    "system_user",
    "substring",
    "substr",
    "mid",
    "ascii",
    "ord",
    "char",
    "chr",
    "concat",
    "concat_ws",
    "group_concat",
    "hex",
    "unhex",
    "length",
    "len",
    "if",
    "iif",
    "ifnull",
    "nullif",
    "cast",
    "convert",
    "count",
    "elt",
    "make_set",
    "floor",
    "rand",
    "left",
    "right",
    "lower",
    "upper",
    "unicode",
    "exp",
    "row",
    "coalesce",
    "bin",
    "conv",
    "instr",
    "position",
    "strcmp",
    "greatest",
    "least",
    "now",
    "pow",
    "abs",
    "md5",
    "sqlite_version",
    "db_name",
    "host_name",
    "pg_sleep_for",
    "decode",
    "json_keys",
    "rtrim",
    "ltrim",
    "trim",
    "quarter",
    "typeof",
];

/// Whether tokens continue a statement, and how sure that is.
pub(super) fn continuation(tokens: &[Token<'_>], before: Before) -> Option<Strength> {
    let tokens = after(tokens, Kind::Close);
    let (first, rest) = tokens.split_first()?;
    let found = match first.kind {
        Kind::Logic => condition(rest, before),
        Kind::Comparison => comparison(first, rest, before),
        Kind::Arithmetic => arithmetic(rest, before),
        Kind::SetOperation => set_operation(rest),
        Kind::Semicolon => further_statement(rest, before),
        Kind::Clause => clause(first, rest, before),
        Kind::Comment { is_last: true } => cut_off(first, before),
        Kind::Statement if first.is("waitfor") => is_word(rest, "delay").then_some(Strength::Certain),
        Kind::Text { .. } => match before {
            // `'' or 1=1`, where the quote is doubled against a filter.
            Before::Quote { .. } if matches!(rest.first()?.kind, Kind::Logic) => {
                condition(rest.get(1..)?, before)
            }
            _ => None,
        },
        _ => None,
    };
    // Whatever the form, a call of these is what the value is for.
    match found {
        Some(_) if calls(tokens, WEAPONS) => Some(Strength::Certain),
        other => other,
    }
}

/// Whether the whole value is an expression that only an attack sends.
pub(super) fn expression(tokens: &[Token<'_>]) -> Option<Strength> {
    let inner = after(tokens, Kind::Open);
    let first = inner.first()?;
    if first.is("select") {
        let is_nested = inner.len() < tokens.len();
        // A line of a statement that is written in several opens more than it closes.
        let is_closed = count(tokens, Kind::Close) >= count(tokens, Kind::Open);
        return Some(match () {
            () if calls(inner, WEAPONS) || is_nested && is_closed => Strength::Certain,
            () if is_nested => Strength::Likely,
            () => Strength::Possible,
        });
    }
    if first.is("case") && is_word(inner.get(1..)?, "when") && inner.iter().any(|token| token.is("then")) {
        let is_closed = inner.iter().any(|token| token.is("end"));
        return Some(if is_closed { Strength::Certain } else { Strength::Likely });
    }
    let is_call = matches!(
        inner,
        [Token { kind: Kind::Name | Kind::Statement, .. }, Token { kind: Kind::Open, .. }, ..]
    );
    // Programs wait so, too, but for a time that they compute.
    let is_program = first.is("sleep") && inner.get(2).is_some_and(|token| token.kind == Kind::Name);
    (is_call && !is_program && calls(inner, WEAPONS)).then_some(Strength::Certain)
}

pub(super) fn count(tokens: &[Token<'_>], kind: Kind) -> usize {
    tokens.iter().filter(|token| token.kind == kind).count()
}

pub(super) fn after<'t, 'v>(mut tokens: &'t [Token<'v>], kind: Kind) -> &'t [Token<'v>] {
    while let [first, rest @ ..] = tokens
        && first.kind == kind
    {
        tokens = rest;
    }
    tokens
}

pub(super) fn is_word(tokens: &[Token<'_>], word: &str) -> bool {
    tokens.first().is_some_and(|token| token.is(word))
}

/// Whether a function is called that nobody calls in a value.
pub(super) fn calls_weapon(tokens: &[Token<'_>]) -> bool {
    calls(tokens, WEAPONS)
}

pub(super) fn calls(tokens: &[Token<'_>], functions: &[&str]) -> bool {
    tokens.windows(2).any(|pair| match pair {
        [name, open] => open.kind == Kind::Open && functions.iter().any(|function| name.is(function)),
        _ => false,
    })
}

/// `or 1=1`, `and exists(…)`, `|| sleep(5)`, `or true--`.
pub(super) fn condition(tokens: &[Token<'_>], before: Before) -> Option<Strength> {
    let is_quoted = before.is_quoted();
    let (left, rest) = operand(tokens)?;
    let (rest, is_literal) = past_sum(rest);
    let left = if left == Operand::Literal && !is_literal { Operand::Column } else { left };
    match (left, rest) {
        (Operand::Query | Operand::Call { is_known: true }, _) => return Some(Strength::Certain),
        (Operand::Literal | Operand::Text, [null, ..])
            if is_quoted && (null.is("isnull") || null.is("notnull")) =>
        {
            return Some(Strength::Certain);
        }
        // A text that is still open so far behind is meant to go on beyond what is read.
        (Operand::Text, []) if is_quoted && is_long_open(tokens) => return Some(Strength::Certain),
        (_, [operator @ Token { kind: Kind::Comparison, text }, after @ ..]) => {
            // Program text compares so.
            let is_program = *text == b"=="
                || after.first().is_some_and(|token| token.text == b"=")
                || lacks_list(operator, after);
            let is_element = |token: &Token<'_>| token.text.starts_with(b"[");
            let left_end = tokens.len().checked_sub(rest.len() + 1).and_then(|last| tokens.get(last));
            let right = operand(after).map(|(right, _)| right);
            let is_pattern = [&b"rlike"[..], b"regexp"].iter().any(|word| text.eq_ignore_ascii_case(word));
            let are_literal = |operand| matches!(operand, Operand::Literal | Operand::Text);
            return match right {
                // Nobody programs that, and SQLite reads it.
                Some(Operand::Literal) if left == Operand::Literal && before.is_ended() && *text == b"==" => {
                    Some(Strength::Certain)
                }
                Some(_) if is_quoted && *text == b"==" && super::statement::is_cut(after) => {
                    Some(Strength::Certain)
                }
                // `a[i] == 'b'`
                _ if is_program
                    && (left_end.is_some_and(is_element) || after.get(1).is_some_and(is_element)) =>
                {
                    Some(Strength::Possible)
                }
                _ if is_program => Some(Strength::Likely),
                Some(right) if are_literal(left) && are_literal(right) => Some(Strength::Certain),
                Some(Operand::Query | Operand::Call { is_known: true }) => Some(Strength::Certain),
                Some(_) if is_quoted => Some(Strength::Certain),
                Some(Operand::Text) if is_pattern && matches!(before, Before::Number) => {
                    Some(Strength::Certain)
                }
                Some(_) if matches!(before, Before::Number) => Some(Strength::Likely),
                _ => Some(Strength::Possible),
            };
        }
        (Operand::Literal, [Token { kind: Kind::Comment { is_last: true }, .. }, ..]) => {
            return Some(Strength::Certain);
        }
        (Operand::Literal, [] | [Token { kind: Kind::Semicolon, .. }]) if is_quoted => {
            return Some(Strength::Certain);
        }
        (
            Operand::Literal,
            [Token { kind: Kind::Semicolon, .. }, Token { kind: Kind::Comment { is_last: true }, .. }],
        ) => return Some(Strength::Certain),
        // `1 or true`
        (Operand::Literal, []) if matches!(before, Before::Number) && is_truth(tokens) => {
            return Some(Strength::Certain);
        }
        (Operand::Literal, []) => return Some(Strength::Possible),
        // `' or '1`, whose last quote is behind the value.
        (Operand::Text, []) if is_quoted && is_open_number(tokens) => return Some(Strength::Certain),
        (Operand::Text | Operand::Call { .. }, _) if is_quoted => return Some(Strength::Likely),
        (Operand::Literal, [next, ..])
            if is_quoted && matches!(next.kind, Kind::Logic | Kind::Text { .. } | Kind::Clause) =>
        {
            return Some(Strength::Certain);
        }
        (_, [Token { kind: Kind::Logic, .. }, after @ ..]) => return condition(after, before),
        _ => {}
    }
    None
}

/// Whether tokens end with a number in a string that no quote ends.
fn is_open_number(tokens: &[Token<'_>]) -> bool {
    tokens.last().is_some_and(|last| match (last.kind, last.text) {
        (Kind::Text { is_closed: false }, [_, digits @ ..]) => {
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    })
}

/// Whether tokens end with a long string that no quote ends.
fn is_long_open(tokens: &[Token<'_>]) -> bool {
    tokens.last().is_some_and(|last| {
        last.kind == (Kind::Text { is_closed: false }) && last.text.len() >= MIN_OPEN_BYTES
    })
}

/// Whether tokens are `true`, `false`, or one of them after `not`.
fn is_truth(tokens: &[Token<'_>]) -> bool {
    tokens.last().is_some_and(|last| last.is("true") || last.is("false"))
}

/// Whether an operator is `in` and no bracket follows: people write `a` in `b`, SQL has its list in brackets.
fn lacks_list(operator: &Token<'_>, after: &[Token<'_>]) -> bool {
    operator.is("in") && after.first().is_none_or(|list| list.kind != Kind::Open)
}

/// `'='`, `' like '%`, `1 in (select 1)`.
fn comparison(operator: &Token<'_>, tokens: &[Token<'_>], before: Before) -> Option<Strength> {
    let (right, rest) = operand(tokens)?;
    let is_word = operator.text.first().is_some_and(u8::is_ascii_alphabetic);
    let is_cut = matches!(rest, [Token { kind: Kind::Comment { is_last: true }, .. }]);
    match (right, before) {
        (Operand::Text, Before::Quote { .. }) if lacks_list(operator, tokens) => Some(Strength::Likely),
        (Operand::Literal, Before::Number) if operator.is("is") && is_cut => Some(Strength::Certain),
        (Operand::Query, _) if tokens.first()?.kind == Kind::Open => Some(Strength::Certain),
        (Operand::Call { is_known: true }, Before::Quote { .. }) => Some(Strength::Certain),
        (Operand::Text, Before::Quote { is_spaced: true, .. }) if is_word => Some(Strength::Certain),
        (Operand::Text, Before::Quote { .. }) if is_word => Some(Strength::Possible),
        (Operand::Text | Operand::Literal, Before::Quote { .. }) => Some(signs(rest, before)),
        _ => None,
    }
}

/// `'-0||'`, `1-sleep(5)`, `'+(select 1)+'`.
fn arithmetic(tokens: &[Token<'_>], before: Before) -> Option<Strength> {
    let is_quoted = before.is_quoted();
    let (right, rest) = operand(tokens)?;
    match right {
        Operand::Query => Some(Strength::Certain),
        Operand::Call { is_known: true } if is_quoted || calls(tokens, WEAPONS) => Some(Strength::Certain),
        Operand::Call { is_known: true } => Some(Strength::Likely),
        Operand::Text | Operand::Literal if is_quoted => Some(match rest {
            [Token { kind: Kind::Logic, .. }, ..] => Strength::Certain,
            [Token { kind: Kind::Comment { is_last: true }, .. }, ..] => Strength::Certain,
            _ => signs(rest, before),
        }),
        _ => None,
    }
}

/// A short value of nothing but quotes and signs.
fn signs(rest: &[Token<'_>], before: Before) -> Strength {
    match before {
        Before::Quote { bytes, value_bytes, .. }
            if value_bytes <= MAX_SIGNS_BYTES
                && (rest.is_empty()
                    || bytes == 0 && rest.first().is_none_or(|next| next.kind != Kind::Comma)) =>
        {
            Strength::Certain
        }
        _ => Strength::Possible,
    }
}

/// `union all select`.
fn set_operation(tokens: &[Token<'_>]) -> Option<Strength> {
    let mut rest = tokens;
    while let [first, after @ ..] = rest
        && (first.kind == Kind::Open || ["all", "distinct", "distinctrow"].iter().any(|word| first.is(word)))
    {
        rest = after;
    }
    let (query, rest) = rest.split_first()?;
    let is_list = !rest.is_empty() && !matches!(rest.first()?.kind, Kind::Dot);
    (query.kind == Kind::Query && is_list).then_some(Strength::Certain)
}
