//! Tokens of a value.

use libinjectionrs::sqli::sqli_data::{CHAR_MAP, CharType};

use super::token::{Kind, Token, kind};
use super::words;
use pattern::ByteSet;

/// Whose comments are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `--` begins a comment, `#` is an operator.
    Ansi,
    /// `#` begins a comment, and `--` before a space.
    MySql,
}

/// Reads a value from its beginning.
#[derive(Debug)]
pub(super) struct Lexer<'v> {
    pub(super) value: &'v [u8],
    at: usize,
    /// The quote that is taken to stand before the value.
    quote: Option<u8>,
    dialect: Dialect,
    /// Whether there was a comment that the dialects read in different ways.
    pub(super) has_mysql_comment: bool,
}

/// A token and where the next one begins.
pub(super) type Read = (Token, usize);

/// Bytes that end a word.
const ENDS_WORD: ByteSet = ByteSet::of(b" []{}<>:\\?=@!#~+-*/&|^%(),';\t\n\x0B\x0C\r\"\xA0\x00");
/// Bytes that end a variable's name.
const ENDS_VARIABLE: ByteSet = ByteSet::of(b" <>:\\?=@!#~+-*/&|^%(),;'\t\n\x0B\x0C\r'`\"");

/// How many bytes there are before the first one of a set.
fn length_to(set: &ByteSet, bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| set.has(*byte)).unwrap_or(bytes.len())
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0B | 0x0C | b'\r' | 0xA0 | 0)
}

impl<'v> Lexer<'v> {
    pub(super) fn new(value: &'v [u8], quote: Option<u8>, dialect: Dialect) -> Self {
        Self { value, at: 0, quote, dialect, has_mysql_comment: false }
    }

    /// What is left from a place.
    pub(super) fn rest(&self, at: usize) -> &'v [u8] {
        self.value.get(at..).unwrap_or(&[])
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.value.get(at).copied()
    }

    pub(super) fn part(&self, from: usize, to: usize) -> &'v [u8] {
        self.value.get(from..to).unwrap_or(&[])
    }

    /// A token over a part of the value, behind which the next one begins.
    pub(super) fn over(&self, kind: Kind, from: usize, to: usize) -> Read {
        (Token::new(kind, self.part(from, to)), to)
    }

    fn read(&mut self, at: usize, byte: u8) -> Option<Read> {
        let one = |kind| Some((Token::new(kind, &[byte]), at + 1));
        Some(match CHAR_MAP.get(usize::from(byte)).copied().unwrap_or(CharType::Other) {
            CharType::White => return None,
            CharType::Op1 | CharType::Unary => return one(kind::OPERATOR),
            CharType::LeftParens
            | CharType::RightParens
            | CharType::Comma
            | CharType::Semicolon
            | CharType::LeftBrace
            | CharType::RightBrace => return one(byte),
            CharType::Other => return one(kind::UNKNOWN),
            CharType::Bang | CharType::Op2 => self.operator(at, byte),
            CharType::Dash => self.dash(at),
            CharType::Hash => self.hash(at),
            CharType::Slash => self.slash(at),
            CharType::Backslash if self.byte(at + 1) == Some(b'N') => self.over(kind::NUMBER, at, at + 2),
            CharType::Backslash => return one(kind::BACKSLASH),
            CharType::Variable => self.variable(at),
            CharType::Word => self.word(at),
            CharType::BWord => self.bracketed(at),
            CharType::Tick => self.backquoted(at),
            CharType::String => self.string(at, byte),
            CharType::BString => self.digits_in_quotes(at, |byte| matches!(byte, b'0' | b'1')),
            CharType::XString => self.digits_in_quotes(at, |byte| byte.is_ascii_hexdigit()),
            CharType::EString => self.escape_string(at),
            CharType::NQString => self.national_string(at),
            CharType::QString => self.delimited_string(at, at),
            CharType::UString => self.unicode_string(at),
            CharType::Money => self.dollar(at),
            CharType::Number => self.number(at),
        })
    }

    /// One of two or three signs, or the sign alone.
    fn operator(&self, at: usize, sign: u8) -> Read {
        if self.rest(at).starts_with(b"<=>") {
            return self.over(kind::OPERATOR, at, at + 3);
        }
        let two = self.value.get(at..at + 2);
        match two.and_then(words::kind_of).filter(|known| *known != kind::BAREWORD) {
            Some(kind::LOGIC) => self.over(kind::LOGIC, at, at + 2),
            Some(_) => self.over(kind::OPERATOR, at, at + 2),
            None if sign == b':' && two.is_some() => self.over(kind::COLON, at, at + 1),
            None => self.over(kind::OPERATOR, at, at + 1),
        }
    }

    fn dash(&mut self, at: usize) -> Read {
        if self.byte(at + 1) != Some(b'-') {
            return self.over(kind::OPERATOR, at, at + 1);
        }
        if self.byte(at + 2).is_none_or(is_space) {
            return self.comment_to_line_end(at);
        }
        self.has_mysql_comment = true;
        match self.dialect {
            Dialect::Ansi => self.comment_to_line_end(at),
            Dialect::MySql => self.over(kind::OPERATOR, at, at + 1),
        }
    }

    fn hash(&mut self, at: usize) -> Read {
        self.has_mysql_comment = true;
        match self.dialect {
            Dialect::Ansi => self.over(kind::OPERATOR, at, at + 1),
            Dialect::MySql => self.comment_to_line_end(at),
        }
    }

    fn comment_to_line_end(&self, at: usize) -> Read {
        match memchr::memchr(b'\n', self.rest(at)) {
            Some(length) => (Token::new(kind::COMMENT, self.part(at, at + length)), at + length + 1),
            None => self.over(kind::COMMENT, at, self.value.len()),
        }
    }

    fn slash(&self, at: usize) -> Read {
        if self.byte(at + 1) != Some(b'*') {
            return self.over(kind::OPERATOR, at, at + 1);
        }
        let inside = self.rest(at + 2);
        let close = memchr::memmem::find(inside, b"*/");
        // One within another, or one whose content MySQL executes. The `*` that closes may be the one inside.
        let nests = close
            .and_then(|close| inside.get(..=close))
            .is_some_and(|inside| memchr::memmem::find(inside, b"/*").is_some());
        let kind = if nests || inside.first() == Some(&b'!') { kind::EVIL } else { kind::COMMENT };
        self.over(kind, at, close.map_or(self.value.len(), |close| at + 2 + close + 2))
    }

    pub(super) fn word(&self, at: usize) -> Read {
        let word = self.part(at, at + length_to(&ENDS_WORD, self.rest(at)));
        // A keyword ends at a dot or a backquote; no keyword is longer than what a token keeps.
        for (index, byte) in word.iter().enumerate().take(super::token::MAX_TEXT_BYTES + 1) {
            if let (b'.' | b'`', Some(head)) = (byte, word.get(..index))
                && let Some(kind) = words::kind_of(head).filter(|kind| *kind != kind::BAREWORD)
            {
                return self.over(kind, at, at + index);
            }
        }
        let kind = words::kind_of(word).unwrap_or(kind::BAREWORD);
        self.over(kind, at, at + word.len())
    }

    /// A name in brackets.
    fn bracketed(&self, at: usize) -> Read {
        let close = memchr::memchr(b']', self.rest(at));
        self.over(kind::BAREWORD, at, close.map_or(self.value.len(), |close| at + close + 1))
    }

    /// A name in backquotes, which may be that of a function.
    fn backquoted(&self, at: usize) -> Read {
        let (token, next) = self.string_from(at + 1, b'`', b'`');
        let is_function = words::kind_of(&token.value) == Some(kind::FUNCTION);
        (Token { kind: if is_function { kind::FUNCTION } else { kind::BAREWORD }, ..token }, next)
    }

    fn variable(&self, at: usize) -> Read {
        let name = at + if self.byte(at + 1) == Some(b'@') { 2 } else { 1 };
        let quoted = match self.byte(name) {
            Some(b'`') => self.backquoted(name),
            Some(quote @ (b'\'' | b'"')) => self.string(name, quote),
            _ => return self.over(kind::VARIABLE, at, name + length_to(&ENDS_VARIABLE, self.rest(name))),
        };
        (Token { kind: kind::VARIABLE, ..quoted.0 }, quoted.1)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        if let (0, Some(quote), false) = (self.at, self.quote, self.value.is_empty()) {
            let (token, next) = self.string_from(0, quote, 0);
            self.at = next;
            return Some(token);
        }
        while let Some(byte) = self.byte(self.at) {
            match self.read(self.at, byte) {
                Some((token, next)) => {
                    self.at = next;
                    return Some(token);
                }
                None => self.at += 1,
            }
        }
        None
    }
}
