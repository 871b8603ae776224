//! Tokens of SQL, as the dialects in use read it: one reader that takes the union of them.

use smallvec::SmallVec;

/// Tokens that are looked at after one place; what an injection is shows early.
pub(super) const MAX_TOKENS: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `or and xor || &&`
    Logic,
    /// `= < > <> != <=> like in is between rlike regexp …`
    Comparison,
    /// `+ - * / % | & ^ ~ ! not`
    Arithmetic,
    /// `union intersect except`
    SetOperation,
    /// `select values table`
    Query,
    /// Words that begin another statement.
    Statement,
    /// `order group having limit offset procedure into where from …`: words that continue a query.
    Clause,
    /// `null true false`
    Constant,
    /// `case when then else end exists …`: words that begin or go on with an expression.
    Expression,
    Name,
    Number,
    /// A string between quotes, or one that no quote ends.
    Text {
        is_closed: bool,
    },
    /// `--`, `#`, `/* */`: one that nothing follows, or that something does.
    Comment {
        is_last: bool,
    },
    /// `@@version`, `@a`
    Variable,
    Open,
    Close,
    Comma,
    Dot,
    Semicolon,
    /// `::`
    Cast,
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'v> {
    pub kind: Kind,
    pub text: &'v [u8],
}

impl Token<'_> {
    pub(super) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word.as_bytes())
    }
}

pub(super) type Tokens<'v> = SmallVec<[Token<'v>; MAX_TOKENS]>;

/// The tokens that are looked at from the beginning of a text on.
pub(super) fn tokens(text: &[u8]) -> Tokens<'_> {
    TokenReader::new(text).collect()
}

/// Signs in a row that are read one by one. More say nothing more, and would hide what follows.
const MAX_RUN: usize = 4;
/// Names between brackets are no longer.
const MAX_BRACKETED_BYTES: usize = 64;

/// The tokens of a text one by one, comments that stand for spaces left out. A comment to the end of the line is kept,
/// for it cuts off what stood behind the value.
pub(super) struct TokenReader<'v> {
    rest: &'v [u8],
    /// Tokens that are read at most.
    left: usize,
    /// The kind of the token that was read last, and how many of it stand in a row.
    last: Kind,
    run: usize,
}

/// Whether tokens of a kind may stand in a row.
fn is_sign(kind: Kind) -> bool {
    matches!(kind, Kind::Open | Kind::Close | Kind::Arithmetic | Kind::Semicolon)
}

impl<'v> TokenReader<'v> {
    pub(super) fn new(text: &'v [u8]) -> Self {
        Self { rest: text, left: MAX_TOKENS, last: Kind::Other, run: 0 }
    }

    /// Whether what was read last asks for an operand.
    fn expects_operand(&self) -> bool {
        matches!(self.last, Kind::Logic | Kind::Comparison | Kind::Arithmetic | Kind::Open | Kind::Comma)
    }
}

impl<'v> Iterator for TokenReader<'v> {
    type Item = Token<'v>;

    fn next(&mut self) -> Option<Token<'v>> {
        self.left = self.left.checked_sub(1)?;
        loop {
            self.rest = skip_space(self.rest);
            let (kind, length) = match next(self.rest)? {
                (Kind::Comment { .. }, _) if self.expects_operand() && is_minus(self.rest) => {
                    (Kind::Arithmetic, 1)
                }
                read => read,
            };
            let (text, after) = self.rest.split_at(length.clamp(1, self.rest.len()));
            self.rest = after;
            // `/*!50000 union*/` is code for one dialect, and `*/` ends it.
            if kind == (Kind::Comment { is_last: false }) && !is_line_comment(text) {
                continue;
            }
            let is_again = kind == self.last;
            self.run = if is_again { self.run + 1 } else { 1 };
            self.last = kind;
            if self.run <= MAX_RUN || !is_sign(kind) {
                return Some(Token { kind, text });
            }
        }
    }
}

/// Whether a text begins with tokens, behind parentheses that close, that a statement may go on with. Most do not, and
/// need not be read further.
pub(super) fn may_continue(text: &[u8]) -> bool {
    let mut tokens = TokenReader::new(text);
    let Some(first) = tokens.find(|token| token.kind != Kind::Close).filter(continues) else { return false };
    match first.kind {
        Kind::Text { .. } => tokens.next().is_some_and(|token| token.kind == Kind::Logic),
        Kind::Comment { is_last } => is_last,
        Kind::Logic | Kind::Comparison | Kind::Arithmetic => tokens
            .find(|token| !matches!(token.kind, Kind::Arithmetic | Kind::Open))
            .is_some_and(|token| begins_operand(&token)),
        Kind::Semicolon => {
            tokens.find(|token| token.kind != Kind::Semicolon).is_none_or(|token| match token.kind {
                Kind::Comment { .. } | Kind::Query | Kind::Statement => true,
                // Whatever it is, a comment cuts off what follows it.
                Kind::Name => is_further(&token) || memchr::memmem::find(text, b"--").is_some(),
                _ => false,
            })
        }
        _ => true,
    }
}

/// Whether a name begins a statement together with the word that follows it.
fn is_further(token: &Token<'_>) -> bool {
    FURTHER.iter().any(|(first, _)| token.is(first))
}

/// Statements by their first two words. The first word alone is common in ordinary text.
pub(super) const FURTHER: &[(&str, &[&str])] = &[
    ("analyze", &["table"]),
    ("bulk", &["insert"]),
    ("check", &["table"]),
    ("discard", &["all", "plans", "temp"]),
    ("explain", &["select", "analyze", "plan"]),
    ("flush", &["hosts", "logs", "privileges", "tables"]),
    ("import", &["foreign"]),
    ("install", &["component", "plugin"]),
    ("lock", &["table", "tables"]),
    ("optimize", &["table"]),
    ("purge", &["binary", "master"]),
    ("repair", &["table"]),
    ("reset", &["all", "master", "query"]),
    ("security", &["label"]),
    ("show", &["columns", "databases", "grants", "processlist", "schemas", "tables", "variables"]),
    ("signal", &["sqlstate"]),
];

/// Whether an operand may begin with a token.
fn begins_operand(token: &Token<'_>) -> bool {
    matches!(
        token.kind,
        Kind::Number
            | Kind::Constant
            | Kind::Variable
            | Kind::Text { .. }
            | Kind::Query
            | Kind::Statement
            | Kind::Expression
            | Kind::Name
    ) || token.text == b"{"
}

/// Whether a text begins as an expression does, or with an operand that a statement may go on behind. Most do neither.
pub(super) fn may_begin(text: &[u8]) -> bool {
    let mut tokens = TokenReader::new(text);
    let Some(mut first) = tokens.next() else { return false };
    if first.kind == Kind::Open || first.is("select") || first.is("case") {
        return true;
    }
    while first.kind == Kind::Arithmetic {
        let Some(next) = tokens.next() else { return false };
        first = next;
    }
    match first.kind {
        Kind::Number | Kind::Constant | Kind::Variable | Kind::Name | Kind::Statement | Kind::Close => {
            let behind = tokens.rest;
            let is_call = tokens.next().is_some_and(|token| token.kind == Kind::Open);
            is_call || continues(&first) || may_continue(behind)
        }
        _ => continues(&first),
    }
}

/// Whether a statement may go on with a token.
fn continues(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Statement => token.is("waitfor"),
        Kind::Logic
        | Kind::Comparison
        | Kind::Arithmetic
        | Kind::SetOperation
        | Kind::Semicolon
        | Kind::Clause
        | Kind::Comment { .. }
        | Kind::Text { .. } => true,
        _ => false,
    }
}

/// Whether a text begins with two signs that one dialect reads as a comment only if a space follows them.
fn is_minus(text: &[u8]) -> bool {
    matches!(text, [b'-', b'-', after, ..] if !is_space(*after))
}

fn is_line_comment(text: &[u8]) -> bool {
    !text.starts_with(b"/*") && text != b"*/"
}

fn skip_space(text: &[u8]) -> &[u8] {
    let length = text.iter().take_while(|byte| is_space(**byte)).count();
    text.get(length..).unwrap_or_default()
}

/// Control bytes, and U+00A0 in Latin-1 and in UTF-8, are spaces to one database or another.
pub(super) const fn is_space(byte: u8) -> bool {
    byte <= b' ' || byte == 0xa0 || byte == 0xc2
}

/// The kind and the length of the token that a text begins with.
fn next(text: &[u8]) -> Option<(Kind, usize)> {
    let second = text.get(1).copied();
    Some(match (*text.first()?, second) {
        (b'\'' | b'"' | b'`', _) => string(text),
        (b'/', Some(b'*')) => block_comment(text),
        (b'*', Some(b'/')) => (Kind::Comment { is_last: false }, 2),
        (b'-', Some(b'-')) | (b'#', _) => line_comment(text),
        (b'|', Some(b'|')) | (b'&', Some(b'&')) => (Kind::Logic, 2),
        (b'<' | b'>' | b'!' | b'=' | b':', Some(b'=' | b'>')) => {
            (Kind::Comparison, if text.starts_with(b"<=>") { 3 } else { 2 })
        }
        (b'=' | b'<' | b'>', _) => (Kind::Comparison, 1),
        (b'+' | b'-' | b'*' | b'/' | b'%' | b'|' | b'&' | b'^' | b'~' | b'!', _) => (Kind::Arithmetic, 1),
        (b'(', _) => (Kind::Open, 1),
        (b')', _) => (Kind::Close, 1),
        (b',', _) => (Kind::Comma, 1),
        (b';', _) => (Kind::Semicolon, 1),
        (b':', Some(b':')) => (Kind::Cast, 2),
        (b'[', _) => bracketed(text),
        (b'@', _) => (Kind::Variable, 1 + word_length(text.get(1..)?, |byte| byte == b'@')),
        (b'0'..=b'9', _) => (Kind::Number, number_length(text)),
        (b'.', Some(b'0'..=b'9')) => (Kind::Number, 1 + number_length(text.get(1..)?)),
        (b'.', _) => (Kind::Dot, 1),
        (byte, _) if is_word_byte(byte) => {
            let length = word_length(text, |_| false);
            (word(text.get(..length)?), length)
        }
        _ => (Kind::Other, 1),
    })
}

pub(super) const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || (byte >= 0x80 && !is_space(byte))
}

fn word_length(text: &[u8], also: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_word_byte(**byte) || also(**byte)).count()
}

/// `12`, `0x1f`, `1.5`, `1e3`; a word that sticks to it is a token of its own (`1or`).
fn number_length(text: &[u8]) -> usize {
    let digits = |from: usize, is: fn(&u8) -> bool| {
        text.get(from..).map_or(0, |rest| rest.iter().take_while(|byte| is(byte)).count())
    };
    if matches!(text, [b'0', b'x' | b'X', ..]) {
        return 2 + digits(2, u8::is_ascii_hexdigit);
    }
    let mut length = digits(0, u8::is_ascii_digit);
    if text.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1, u8::is_ascii_digit);
    }
    if matches!(text.get(length), Some(b'e' | b'E')) {
        let exponent = digits(length + 1, u8::is_ascii_digit);
        if exponent > 0 {
            length += 1 + exponent;
        }
    }
    length
}

/// `[name]`, and the place in an array behind a name.
// PERF: waf_instructions/quotes_64kb. Within the reader it costs each token registers.
#[inline(never)]
fn bracketed(text: &[u8]) -> (Kind, usize) {
    let is_inner = |byte: &&u8| is_word_byte(**byte) || matches!(byte, b' ' | b',' | b':');
    let length = text.iter().skip(1).take(MAX_BRACKETED_BYTES).take_while(is_inner).count();
    if length > 0 && text.get(1 + length) == Some(&b']') {
        (Kind::Name, length + 2)
    } else {
        (Kind::Other, 1)
    }
}

fn string(text: &[u8]) -> (Kind, usize) {
    let Some((&quote, inner)) = text.split_first() else { return (Kind::Other, 1) };
    let mut at = 0;
    while let Some(&byte) = inner.get(at) {
        match byte {
            b'\\' => at += 1,
            _ if byte == quote && inner.get(at + 1) == Some(&quote) => at += 1,
            _ if byte == quote => return (Kind::Text { is_closed: true }, at + 2),
            _ => {}
        }
        at += 1;
    }
    (Kind::Text { is_closed: false }, text.len())
}

fn block_comment(text: &[u8]) -> (Kind, usize) {
    if let Some(code) = text.strip_prefix(b"/*!") {
        return (
            Kind::Comment { is_last: false },
            3 + code.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        );
    }
    match memchr::memmem::find(text.get(2..).unwrap_or_default(), b"*/") {
        Some(end) => (Kind::Comment { is_last: end + 4 >= text.len() }, end + 4),
        None => (Kind::Comment { is_last: true }, text.len()),
    }
}

fn line_comment(text: &[u8]) -> (Kind, usize) {
    match memchr::memchr(b'\n', text) {
        Some(end) if end + 1 < text.len() => (Kind::Comment { is_last: false }, end),
        _ => (Kind::Comment { is_last: true }, text.len()),
    }
}

pub(super) fn word(word: &[u8]) -> Kind {
    let mut lower = [0; 12];
    let Some(lower) = lower.get_mut(..word.len()) else { return Kind::Name };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    match &*lower {
        b"or" | b"and" | b"xor" => Kind::Logic,
        b"like" | b"ilike" | b"in" | b"is" | b"between" | b"rlike" | b"regexp" | b"sounds" | b"similar"
        | b"glob" => Kind::Comparison,
        b"not" | b"div" | b"mod" | b"binary" | b"collate" => Kind::Arithmetic,
        b"union" | b"intersect" | b"except" | b"minus" => Kind::SetOperation,
        b"select" | b"values" | b"table" => Kind::Query,
        b"insert" | b"update" | b"delete" | b"drop" | b"create" | b"alter" | b"truncate" | b"exec"
        | b"execute" | b"declare" | b"shutdown" | b"grant" | b"revoke" | b"merge" | b"call" | b"waitfor"
        | b"begin" | b"copy" | b"attach" | b"set" | b"use" | b"rename" | b"backup" | b"restore" | b"kill"
        | b"prepare" | b"handler" | b"replace" | b"load" | b"if" | b"do" | b"vacuum" | b"pragma"
        | b"print" => Kind::Statement,
        b"order" | b"group" | b"having" | b"limit" | b"offset" | b"procedure" | b"into" | b"where"
        | b"from" | b"for" | b"window" | b"fetch" | b"rows" => Kind::Clause,
        b"null" | b"true" | b"false" => Kind::Constant,
        b"case" | b"when" | b"then" | b"else" | b"end" | b"exists" | b"any" | b"some" | b"all"
        | b"distinct" => Kind::Expression,
        _ => Kind::Name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text.as_bytes()).iter().map(|token| token.kind).collect()
    }

    #[test]
    fn what_dialects_read() {
        use Kind::{
            Clause, Close, Comma, Comment, Comparison, Logic, Name, Number, Open, Query, SetOperation, Text,
        };
        for (text, expected) in [
            ("1or 1=0x1F", vec![Number, Logic, Number, Comparison, Number]),
            ("union/**/select", vec![SetOperation, Query]),
            ("/*!50000union*/select 1", vec![SetOperation, Query, Number]),
            ("UNION\u{a0}SELECT", vec![SetOperation, Query]),
            ("' or", vec![Text { is_closed: false }]),
            ("'it''s\\'' a", vec![Text { is_closed: true }, Name]),
            ("1 -- x", vec![Number, Comment { is_last: true }]),
            ("1 #x\nor", vec![Number, Comment { is_last: false }, Logic]),
            ("f(a,b) order", vec![Name, Open, Name, Comma, Name, Close, Clause]),
            ("1e3.5", vec![Number, Number]),
            ("or --1=--1--x", {
                let operand = [Kind::Arithmetic, Kind::Arithmetic, Number];
                [&[Logic], &operand[..], &[Comparison], &operand, &[Comment { is_last: true }]].concat()
            }),
            ("or -- 1", vec![Logic, Comment { is_last: true }]),
            ("a::int", vec![Name, Kind::Cast, Name]),
            ("[a b] [1,2] []", vec![Name, Name, Kind::Other, Kind::Other]),
            ("((((((1))))))", [[Open; 4].as_slice(), &[Number], &[Close; 4]].concat()),
            ("", vec![]),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
        assert_eq!(kinds(&"a ".repeat(100)).len(), MAX_TOKENS);
    }
}
