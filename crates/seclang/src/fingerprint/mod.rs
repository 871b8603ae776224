//! What `@detectSQLi` asks: whether a value, put into a statement, is an injection by the fingerprint of
//! its first tokens.
//!
//! ```text
//! value -> tokens (lexer) -> at most five of them (fold) -> their kinds, a fingerprint -> verdict
//! ```
//! Tokens, fingerprints and what is folded are those of libinjection, whose words and fingerprints we take
//! from the package `libinjectionrs`; a test holds every verdict to that package's own. Ours is linear in
//! the length of a value whatever stands in it, and allocates nothing.
//!
//! A value is read as it stands, and if it has quotes as if one stood before it.

mod fold;
mod lexer;
mod literal;
mod token;
mod words;

use smallvec::SmallVec;

use fold::{Folded, MAX_TOKENS, fold};
use lexer::{Dialect, Lexer};
use token::{Kind, Token, kind};

/// Whether a value is an injection of SQL.
pub(super) fn is_injection(value: &[u8]) -> bool {
    let reads = |quote: Option<u8>, dialect| fold(Lexer::new(value, quote, dialect));
    let either_dialect = |quote: Option<u8>| {
        let ansi = reads(quote, Dialect::Ansi);
        // Comments that the two read in different ways.
        ansi.tells(value) || ansi.has_mysql_comment && reads(quote, Dialect::MySql).tells(value)
    };
    either_dialect(None)
        || (memchr::memchr(b'\'', value).is_some() && either_dialect(Some(b'\'')))
        || (memchr::memchr(b'"', value).is_some() && reads(Some(b'"'), Dialect::MySql).tells(value))
}

impl Folded {
    /// Whether the tokens are those of an injection.
    fn tells(&self, value: &[u8]) -> bool {
        let kinds: SmallVec<[Kind; MAX_TOKENS]> = self.tokens.iter().map(|token| token.kind).collect();
        let fingerprint = if kinds.contains(&kind::EVIL) { &[kind::EVIL] } else { kinds.as_slice() };
        words::is_fingerprint(fingerprint) && self.is_meant(fingerprint, value)
    }

    /// Whether a fingerprint that is one of an injection is no accident of plain text.
    fn is_meant(&self, fingerprint: &[Kind], value: &[u8]) -> bool {
        // A word that hides a statement from the log of a server.
        if fingerprint.len() > 1 && fingerprint.last() == Some(&kind::COMMENT) && names_sp_password(value) {
            return true;
        }
        match (fingerprint, self.tokens.as_slice()) {
            ([_, _], [first, second]) => self.two_are_meant(first, second, value),
            ([_, _, _], [first, second, third]) => self.three_are_meant(fingerprint, first, second, third),
            _ => true,
        }
    }

    fn two_are_meant(&self, first: &Token, second: &Token, value: &[u8]) -> bool {
        let sign = second.value.first().copied().unwrap_or(0);
        match (first.kind, second.kind) {
            (_, kind::UNION) => self.read != 2,
            _ if sign == b'#' => false,
            (kind::BAREWORD, kind::COMMENT) if sign != b'/' => false,
            (kind::NUMBER, kind::COMMENT) => {
                // The byte after as many as the number has: if the value begins with it, the one behind it.
                let after = value.get(first.value.len()..).unwrap_or(&[]);
                // Bytes from 128 count as space, as they do where characters have a sign.
                let is_space = after.first().is_some_and(|byte| *byte <= b' ' || !byte.is_ascii());
                sign == b'/'
                    || self.read > 2
                    || is_space
                    || after.starts_with(b"/*")
                    || after.starts_with(b"--")
            }
            _ => !(second.value.len() > 2 && sign == b'-'),
        }
    }

    fn three_are_meant(&self, fingerprint: &[Kind], first: &Token, second: &Token, third: &Token) -> bool {
        match fingerprint {
            b"sos" | b"s&s" => first.open == 0 && third.close == 0 && first.close == third.open,
            b"s&n" | b"n&1" | b"1&1" | b"1&v" | b"1&s" => self.read != 3,
            [_, kind::KEYWORD, _] => second.value.len() >= 5 && second.value.starts_with(b"INTO"),
            _ => true,
        }
    }
}

fn names_sp_password(value: &[u8]) -> bool {
    const NAME: &[u8] = b"sp_password";
    let mut places = memchr::memchr2_iter(b's', b'S', value);
    std::str::from_utf8(value).is_ok()
        && places.any(|at| value.get(at..at + NAME.len()).is_some_and(|word| word.eq_ignore_ascii_case(NAME)))
}

#[cfg(test)]
mod tests;
