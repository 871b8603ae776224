//! Text to words: comments, line continuations, quotes, escapes.

use std::sync::Arc;

use super::ast::Word;
use super::mistake;
use diagnostic::{Diagnostics, Place, Source};

/// Longest directive, continuations included; a longer one is refused.
pub const MAX_DIRECTIVE_BYTES: usize = 1 << 20;

/// The directives of a text, each as its words.
pub(super) fn directives(source: &Arc<Source>, diagnostics: &mut Diagnostics) -> Vec<Vec<Word>> {
    let mut scanner = Scanner { source, bytes: source.text.as_bytes(), at: 0 };
    let mut directives = Vec::new();
    while scanner.at < scanner.bytes.len() {
        let start = scanner.at;
        match scanner.directive() {
            Ok(words) if words.is_empty() => {}
            Ok(words) => directives.push(words),
            Err(LexError { at, message }) => {
                diagnostics.push(mistake(Place::new(source, at..at + 1), message));
                scanner.skip_line();
            }
        }
        if scanner.at - start > MAX_DIRECTIVE_BYTES {
            let message = format!("the directive is over {MAX_DIRECTIVE_BYTES} bytes long");
            diagnostics.push(mistake(Place::new(source, start..start + 1), message));
            directives.pop();
        }
    }
    directives
}

struct LexError {
    at: usize,
    message: &'static str,
}

struct Scanner<'a> {
    source: &'a Arc<Source>,
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Length of a line end at `at`: 0 if there is none.
    fn line_end(&self, at: usize) -> usize {
        match (self.bytes.get(at), self.bytes.get(at + 1)) {
            (Some(b'\n'), _) => 1,
            (Some(b'\r'), Some(b'\n')) => 2,
            _ => 0,
        }
    }

    /// Length of a backslash that continues the line, with the line end: 0 if there is none.
    fn continuation(&self) -> usize {
        match (self.peek(), self.line_end(self.at + 1)) {
            (Some(b'\\'), end) if end > 0 => 1 + end,
            _ => 0,
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.line_end(self.at) == 0 {
            self.at += 1;
        }
        self.at += self.line_end(self.at);
    }

    fn directive(&mut self) -> Result<Vec<Word>, LexError> {
        let mut words = Vec::new();
        loop {
            let end = self.line_end(self.at);
            let continued = self.continuation();
            match self.peek() {
                None => return Ok(words),
                Some(_) if end > 0 => {
                    self.at += end;
                    return Ok(words);
                }
                Some(_) if continued > 0 => self.at += continued,
                Some(b'#') if words.is_empty() => {
                    self.skip_line();
                    return Ok(words);
                }
                Some(b) if b.is_ascii_whitespace() => self.at += 1,
                Some(quote @ (b'"' | b'\'')) => words.push(self.quoted(quote)?),
                Some(b'`') if words.first().is_some_and(|name| name.is("SecDataset")) => {
                    words.push(self.lines()?);
                }
                Some(_) => words.push(self.bare()),
            }
        }
    }

    fn bare(&mut self) -> Word {
        let start = self.at;
        let mut text = WordText::new(start);
        while let Some(byte) = self.peek() {
            let continued = self.continuation();
            if continued > 0 {
                self.at += continued;
                continue;
            }
            if byte.is_ascii_whitespace() {
                break;
            }
            text.push(byte, self.at);
            self.at += 1;
        }
        text.finish(self.source, start..self.at)
    }

    fn quoted(&mut self, quote: u8) -> Result<Word, LexError> {
        let start = self.at;
        self.at += 1;
        let mut text = WordText::new(start);
        loop {
            let continued = self.continuation();
            match self.peek() {
                None => return Err(self.unclosed(start)),
                Some(_) if continued > 0 => self.at += continued,
                Some(_) if self.line_end(self.at) > 0 => {
                    let error = self.unclosed(start);
                    self.at = start;
                    return Err(error);
                }
                Some(b'\\') if self.bytes.get(self.at + 1) == Some(&quote) => {
                    text.push(quote, self.at + 1);
                    self.at += 2;
                }
                Some(b'\\') if self.bytes.get(self.at + 1) == Some(&b'\\') => {
                    text.push(b'\\', self.at);
                    self.at += 2;
                }
                Some(byte) if byte == quote => {
                    self.at += 1;
                    return Ok(text.finish(self.source, start..self.at));
                }
                Some(byte) => {
                    text.push(byte, self.at);
                    self.at += 1;
                }
            }
        }
    }

    /// The lines between two backticks, as they are.
    fn lines(&mut self) -> Result<Word, LexError> {
        let start = self.at;
        let inner = self.bytes.get(start + 1..).unwrap_or(&[]);
        let length = memchr::memchr(b'`', inner).ok_or(LexError {
            at: start,
            message: "the lines that begin here are not closed; end them with a backtick",
        })?;
        let mut text = WordText::new(start);
        for (offset, byte) in inner.iter().take(length).enumerate() {
            text.push(*byte, start + 1 + offset);
        }
        self.at = start + length + 2;
        Ok(text.finish(self.source, start..self.at))
    }

    fn unclosed(&self, start: usize) -> LexError {
        LexError {
            at: start,
            message: "the quote that opens here is not closed on its line; close it, or end the line with `\\` to continue",
        }
    }
}

struct WordText {
    start: usize,
    bytes: Vec<u8>,
    origin: Vec<u32>,
}

impl WordText {
    fn new(start: usize) -> Self {
        Self { start, bytes: Vec::new(), origin: Vec::new() }
    }

    fn push(&mut self, byte: u8, at: usize) {
        self.bytes.push(byte);
        self.origin.push(u32::try_from(at - self.start).unwrap_or(u32::MAX));
    }

    fn finish(self, source: &Arc<Source>, span: std::ops::Range<usize>) -> Word {
        // INVARIANT: only whole ASCII bytes are left out, so what remains is UTF-8.
        let text = String::from_utf8_lossy(&self.bytes).into_owned();
        Word { text, source: Arc::clone(source), span, origin: self.origin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> (Vec<Vec<String>>, usize) {
        let mut diagnostics = Diagnostics::default();
        let found = directives(&Source::new("t", text), &mut diagnostics);
        (found.into_iter().map(|d| d.into_iter().map(|w| w.text).collect()).collect(), diagnostics.errors())
    }

    #[test]
    fn continuations_quotes_comments_and_crlf() {
        let text =
            "# c \\\r\nSecRule ARGS \"@rx a\\\"b\\\\\" \\\r\n  \"id:1,\\\r\n  pass\"\r\n  # x\nSecMarker END";
        let (found, errors) = words(text);
        assert_eq!(errors, 0);
        assert_eq!(found[0], ["SecRule", "ARGS", "@rx a\"b\\", "id:1,  pass"]);
        assert_eq!(found[1], ["SecMarker", "END"]);
    }

    #[test]
    fn an_open_quote_costs_one_line() {
        let (found, errors) = words("SecRule ARGS \"@rx a\nSecMarker END\n");
        assert_eq!((found.len(), errors), (1, 1));
    }

    #[test]
    fn parts_point_into_the_source() {
        let source = Source::new("t", "SecAction \"id:1,\\\n  pass\"");
        let found = directives(&source, &mut Diagnostics::default());
        assert_eq!(found[0][1].part(7..11).label(), "t:2:3");
    }
}
