//! A token: its kind, and as much of its text as tells words apart.

/// What a token is, as the letter it has in a fingerprint.
pub(super) type Kind = u8;

/// The kinds that have a name here; patterns of several kinds are written in letters, with `B` for words
/// such as `group by` and `E` for those that begin an expression, such as `select`.
pub(super) mod kind {
    use super::Kind;

    pub(in super::super) const BACKSLASH: Kind = b'\\';
    pub(in super::super) const BAREWORD: Kind = b'n';
    pub(in super::super) const COLLATE: Kind = b'A';
    pub(in super::super) const COLON: Kind = b':';
    pub(in super::super) const COMMENT: Kind = b'c';
    pub(in super::super) const DOT: Kind = b'.';
    /// What no client sends but to get around a filter.
    pub(in super::super) const EVIL: Kind = b'X';
    /// Of an entry that is a fingerprint and no word.
    pub(in super::super) const FINGERPRINT: Kind = b'F';
    pub(in super::super) const FUNCTION: Kind = b'f';
    pub(in super::super) const KEYWORD: Kind = b'k';
    pub(in super::super) const LEFT_BRACE: Kind = b'{';
    pub(in super::super) const LEFT_PARENTHESIS: Kind = b'(';
    pub(in super::super) const LOGIC: Kind = b'&';
    pub(in super::super) const NUMBER: Kind = b'1';
    pub(in super::super) const OPERATOR: Kind = b'o';
    pub(in super::super) const RIGHT_BRACE: Kind = b'}';
    pub(in super::super) const RIGHT_PARENTHESIS: Kind = b')';
    pub(in super::super) const SEMICOLON: Kind = b';';
    pub(in super::super) const SQL_TYPE: Kind = b't';
    pub(in super::super) const STRING: Kind = b's';
    pub(in super::super) const TSQL: Kind = b'T';
    pub(in super::super) const UNION: Kind = b'U';
    pub(in super::super) const UNKNOWN: Kind = b'?';
    pub(in super::super) const VARIABLE: Kind = b'v';
}

/// Longest text of a token that is kept, in bytes; no word is longer.
pub(super) const MAX_TEXT_BYTES: usize = 31;

/// One token.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) value: Text,
    /// The quotes of a string; 0 if there is none.
    pub(super) open: u8,
    pub(super) close: u8,
}

/// The first bytes of a token.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Text {
    bytes: [u8; MAX_TEXT_BYTES],
    len: u8,
}

impl Token {
    pub(super) fn new(kind: Kind, text: &[u8]) -> Self {
        Self { kind, value: Text::of(text), open: 0, close: 0 }
    }

    pub(super) fn quoted(kind: Kind, text: &[u8], open: u8, close: u8) -> Self {
        Self { open, close, ..Self::new(kind, text) }
    }

    /// Whether it is one of these words, in upper case, whatever its own case.
    pub(super) fn is_one_of(&self, words: &[&[u8]]) -> bool {
        words.iter().any(|word| self.value.eq_ignore_ascii_case(word))
    }

    /// Whether it is an operator before its operand.
    pub(super) fn is_unary(&self) -> bool {
        self.kind == kind::OPERATOR
            && match &*self.value {
                [sign] => b"+-!~".contains(sign),
                other => other == b"!!" || other.eq_ignore_ascii_case(b"NOT"),
            }
    }

    pub(super) fn is_arithmetic(&self) -> bool {
        self.kind == kind::OPERATOR && matches!(&*self.value, [b'*' | b'/' | b'-' | b'+' | b'%'])
    }
}

impl Text {
    fn of(text: &[u8]) -> Self {
        let mut of = Self::default();
        for (slot, byte) in of.bytes.iter_mut().zip(text) {
            *slot = *byte;
        }
        // INVARIANT: at most 31.
        of.len = text.len().min(MAX_TEXT_BYTES) as u8;
        of
    }

    /// Two words with a space between them; `None` if they are longer than any word.
    pub(super) fn joined(first: &[u8], second: &[u8]) -> Option<Self> {
        let all = first.iter().chain(b" ").chain(second);
        let len = first.len() + 1 + second.len();
        let mut of =
            Self { len: u8::try_from(len).ok().filter(|_| len <= MAX_TEXT_BYTES)?, ..Self::default() };
        for (slot, byte) in of.bytes.iter_mut().zip(all) {
            *slot = *byte;
        }
        Some(of)
    }
}

impl std::ops::Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }
}
