//! Strings and numbers, in the forms of all dialects.

use super::lexer::{Lexer, Read, is_space};
use super::token::{Token, kind};

impl Lexer<'_> {
    /// A string in quotes.
    pub(super) fn string(&self, at: usize, quote: u8) -> Read {
        self.string_from(at + 1, quote, quote)
    }

    /// The content of a string and its closing quote; backslashes and a doubled quote escape it.
    pub(super) fn string_from(&self, from: usize, quote: u8, open: u8) -> Read {
        let mut at = from;
        while let Some(distance) = memchr::memchr(quote, self.rest(at)) {
            let found = at + distance;
            let before = self.value.get(..found).unwrap_or(&[]);
            let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
            at = if backslashes % 2 == 1 {
                found + 1
            } else if self.byte(found + 1) == Some(quote) {
                found + 2
            } else {
                let text = self.part(from, found);
                return (Token::quoted(kind::STRING, text, open, quote), found + 1);
            };
        }
        (Token::quoted(kind::STRING, self.rest(from), open, 0), self.value.len())
    }

    /// `e'…'`
    pub(super) fn escape_string(&self, at: usize) -> Read {
        if self.byte(at + 1) == Some(b'\'') && self.byte(at + 2).is_some() {
            return self.string_from(at + 2, b'\'', b'\'');
        }
        self.word(at)
    }

    /// `n'…'` and `nq'…'`
    pub(super) fn national_string(&self, at: usize) -> Read {
        if self.byte(at + 1) == Some(b'\'') && self.byte(at + 2).is_some() {
            return self.escape_string(at);
        }
        self.delimited_string(at, at + 1)
    }

    /// `u&'…'`
    pub(super) fn unicode_string(&self, at: usize) -> Read {
        if self.part(at + 1, at + 3) != b"&'" {
            return self.word(at);
        }
        let (token, next) = self.string(at + 2, b'\'');
        let close = if token.close == b'\'' { b'u' } else { token.close };
        (Token { open: b'u', close, ..token }, next)
    }

    /// `q'[…]'`, whose `q` stands at another place than the token if it is national.
    pub(super) fn delimited_string(&self, at: usize, q: usize) -> Read {
        let opening = match self.part(q, q + 3) {
            [b'q' | b'Q', b'\'', opening @ b'!'..=b'\x7F'] => *opening,
            _ => return self.word(at),
        };
        let closing = match opening {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            other => other,
        };
        let from = q + 3;
        match memchr::memmem::find(self.rest(from), &[closing, b'\'']) {
            Some(length) => {
                let text = self.part(from, from + length);
                (Token::quoted(kind::STRING, text, b'q', b'q'), from + length + 2)
            }
            None => (Token::quoted(kind::STRING, self.rest(from), b'q', 0), self.value.len()),
        }
    }

    /// `b'01'` and `x'0f'`
    pub(super) fn digits_in_quotes(&self, at: usize, is_digit: fn(u8) -> bool) -> Read {
        if self.byte(at + 1) == Some(b'\'') {
            let digits = self.rest(at + 2).iter().take_while(|byte| is_digit(**byte)).count();
            let close = at + 2 + digits;
            if self.byte(close) == Some(b'\'') {
                return self.over(kind::NUMBER, at, close + 1);
            }
        }
        self.word(at)
    }

    /// An amount of money, a string between two tags, or a `$` alone.
    pub(super) fn dollar(&self, at: usize) -> Read {
        let alone = self.over(kind::BAREWORD, at, at + 1);
        let Some(next) = self.byte(at + 1) else { return alone };
        let amount =
            self.rest(at + 1).iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b',')).count();
        if amount == 1 && next == b'.' {
            return self.word(at);
        }
        if amount > 0 {
            return self.over(kind::NUMBER, at, at + 1 + amount);
        }
        let letters = self.rest(at + 1).iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let tag_end = at + 1 + letters;
        if self.byte(tag_end) != Some(b'$') {
            return alone;
        }
        let (tag, from) = (self.part(at, tag_end + 1), tag_end + 1);
        match memchr::memmem::find(self.rest(from), tag) {
            Some(length) => {
                let text = self.part(from, from + length);
                (Token::quoted(kind::STRING, text, b'$', b'$'), from + length + tag.len())
            }
            None => (Token::quoted(kind::STRING, self.rest(from), b'$', 0), self.value.len()),
        }
    }

    /// A number, or a dot.
    pub(super) fn number(&self, at: usize) -> Read {
        let count = |from: usize, is_digit: fn(&u8) -> bool| {
            self.rest(from).iter().take_while(|byte| is_digit(byte)).count()
        };
        let prefixed: Option<fn(&u8) -> bool> = match self.part(at, at + 2) {
            [b'0', b'x' | b'X'] => Some(u8::is_ascii_hexdigit),
            [b'0', b'b' | b'B'] => Some(|byte| matches!(byte, b'0' | b'1')),
            _ => None,
        };
        if let Some(is_digit) = prefixed {
            let digits = count(at + 2, is_digit);
            let kind = if digits == 0 { kind::BAREWORD } else { kind::NUMBER };
            return self.over(kind, at, at + 2 + digits);
        }
        let mut end = at + count(at, u8::is_ascii_digit);
        if self.byte(end) == Some(b'.') {
            end += 1 + count(end + 1, u8::is_ascii_digit);
            if end == at + 1 {
                return self.over(kind::DOT, at, end);
            }
        }
        let mut is_whole = true;
        if matches!(self.byte(end), Some(b'e' | b'E')) {
            end += 1;
            end += usize::from(matches!(self.byte(end), Some(b'+' | b'-')));
            let digits = count(end, u8::is_ascii_digit);
            is_whole = digits > 0;
            end += digits;
        }
        // The suffix of a float or double, also if a word follows at once.
        if matches!(self.byte(end), Some(b'd' | b'D' | b'f' | b'F'))
            && self.byte(end + 1).is_none_or(|next| is_space(next) || matches!(next, b';' | b'u' | b'U'))
        {
            end += 1;
        }
        self.over(if is_whole { kind::NUMBER } else { kind::BAREWORD }, at, end)
    }
}
