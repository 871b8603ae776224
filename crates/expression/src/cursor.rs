//! A place in the text of an expression, and the literals that can stand there.

use std::net::IpAddr;

use super::Mistake;

/// What is left of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    pub(super) fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_ascii_start().len();
    }

    /// Whether anything but space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.rest().is_empty()
    }

    /// An error at this place.
    pub(super) fn mistake(&self, message: impl Into<String>) -> Mistake {
        Mistake { at: self.at, message: message.into() }
    }

    /// That something else should stand here.
    pub(super) fn expected(&self, what: &str) -> Mistake {
        let found = self.rest().chars().take_while(|c| !c.is_whitespace()).take(24).collect::<String>();
        if found.is_empty() {
            return self.mistake(format!("expected {what}, found the end"));
        }
        self.mistake(format!("expected {what}, found `{found}`"))
    }

    /// Takes a sign, after space.
    pub(super) fn take(&mut self, sign: &str) -> bool {
        self.skip_space();
        let is_there = self.rest().starts_with(sign);
        if is_there {
            self.at += sign.len();
        }
        is_there
    }

    /// The word here: letters, digits, `_` and `.`; may be empty.
    pub(super) fn peek_word(&mut self) -> &'t str {
        self.skip_space();
        let rest = self.rest();
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        rest.get(..rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())).unwrap_or("")
    }

    /// Takes a word if it is this one.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_there = self.peek_word() == word;
        if is_there {
            self.at += word.len();
        }
        is_there
    }

    /// A number in decimal or, after `0x`, in hexadecimal form.
    ///
    /// # Errors
    /// If there is none, or it needs more than 64 bits.
    pub(super) fn number(&mut self) -> Result<i64, Mistake> {
        self.skip_space();
        let rest = self.rest();
        let (sign, digits) = rest.strip_prefix('-').map_or((1, rest), |digits| (-1, digits));
        let (radix, digits) = digits.strip_prefix("0x").map_or((10, digits), |digits| (16, digits));
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let (digits, after) = digits.split_at_checked(end).unwrap_or((digits, ""));
        let number = i64::from_str_radix(digits, radix).map_err(|_| self.expected("a number"))?;
        self.at += rest.len() - after.len();
        Ok(sign * number)
    }

    /// An address; a name's letters and the signs of addresses end where neither goes on.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn address(&mut self) -> Result<IpAddr, Mistake> {
        self.skip_space();
        let rest = self.rest();
        let is_of_address = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '.');
        let end = rest.find(|c| !is_of_address(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or("");
        // Two dots are between the ends of a range.
        let word = word.split("..").next().unwrap_or(word);
        let address = word.parse().map_err(|_| self.expected("an address such as `192.0.2.1`"))?;
        self.at += word.len();
        Ok(address)
    }

    /// A text in quotes, where `\"`, `\\` and `\xhh` are escapes, or a raw one as `r"…"` or `r#"…"#`.
    ///
    /// # Errors
    /// If there is none, or it does not end, or it has another escape.
    pub(super) fn text(&mut self) -> Result<Vec<u8>, Mistake> {
        self.skip_space();
        let rest = self.rest();
        if let Some(raw) = rest.strip_prefix('r') {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if let Some(body) = raw.get(hashes..).and_then(|raw| raw.strip_prefix('"')) {
                let close = format!("\"{}", "#".repeat(hashes));
                let end = body.find(&close).ok_or_else(|| self.mistake("this text has no closing quote"))?;
                self.at += 2 + hashes + end + close.len();
                return Ok(body.as_bytes().get(..end).unwrap_or(&[]).to_vec());
            }
        }
        let open = *self;
        if !self.take("\"") {
            return Err(self.expected("a text in quotes"));
        }
        let mut text = Vec::new();
        loop {
            let rest = self.rest();
            let Some(next) = rest.chars().next() else {
                return Err(open.mistake("this text has no closing quote"));
            };
            let taken = match (next, rest.as_bytes().get(1)) {
                ('"', _) => {
                    self.at += 1;
                    return Ok(text);
                }
                ('\\', Some(escaped @ (b'"' | b'\\'))) => {
                    text.push(*escaped);
                    2
                }
                ('\\', Some(b'x')) => {
                    let digits = rest.get(2..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                    let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                    text.push(byte.ok_or_else(|| self.expected("two hex digits after `\\x`"))?);
                    4
                }
                ('\\', _) => {
                    let what =
                        "an escape of `\\\"`, `\\\\` or `\\xhh`; in a raw text, r\"…\", `\\` is itself";
                    return Err(self.expected(what));
                }
                (other, _) => {
                    text.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
                    other.len_utf8()
                }
            };
            self.at += taken;
        }
    }
}
