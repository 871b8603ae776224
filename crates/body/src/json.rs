//! JSON (RFC 8259) flattened to names and values, without building a tree.

use super::BodyError;

/// Limits of one document.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub depth: usize,
}

/// Calls with the path and the text of every scalar and of every empty container, and with every name that has other
/// signs than names have, as a value of its object.
///
/// Paths are `json.member.member`; an element of an array has the array's path, so that rules and
/// exclusions name all elements at once. Values may share a path, also if a member's name has a
/// `.` of its own: callers must keep all. Strings are unescaped; numbers and words are as written.
///
/// # Errors
/// If the text is not JSON, goes on after its end, or nests deeper than the limit.
pub fn read(input: &[u8], limits: Limits, value: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), BodyError> {
    let mut reader = Reader::new(input, limits, value);
    reader.value()?;
    reader.skip_space();
    if reader.at < input.len() { Err(BodyError::Malformed("text follows the JSON value")) } else { Ok(()) }
}

/// The same of one value or more, each behind the other: JSON by lines, or what a server reads that takes the first
/// value and leaves the rest.
///
/// # Errors
/// As of [`read`], for each value.
pub fn read_sequence(
    input: &[u8],
    limits: Limits,
    value: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<(), BodyError> {
    let mut reader = Reader::new(input, limits, value);
    loop {
        reader.value()?;
        reader.skip_space();
        if reader.at == input.len() {
            return Ok(());
        }
    }
}

/// A text that is no JSON to its end, with the escapes of strings undone wherever they stand: lenient readers find strings
/// in it that this one does not. `None` if it has no escape.
pub fn unescaped(input: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b'\\', input)?;
    let mut ignored = |_: &[u8], _: &[u8]| {};
    let mut reader = Reader { at: 0, ..Reader::new(input, Limits { depth: 0 }, &mut ignored) };
    while let Some(rest) = input.get(reader.at..).filter(|rest| !rest.is_empty()) {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        reader.text.extend_from_slice(rest.get(..plain).unwrap_or(&[]));
        reader.at += plain;
        if plain == rest.len() {
            break;
        }
        reader.at += 1;
        let behind = reader.at;
        if reader.escape().is_err() {
            reader.at = behind;
            reader.text.push(b'\\');
        }
    }
    Some(reader.text)
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    path: Vec<u8>,
    text: Vec<u8>,
    depth_left: usize,
    limits: Limits,
    value: &'a mut dyn FnMut(&[u8], &[u8]),
}

type Read = Result<(), BodyError>;

impl<'a> Reader<'a> {
    /// At the start of the first value.
    fn new(input: &'a [u8], limits: Limits, value: &'a mut dyn FnMut(&[u8], &[u8])) -> Self {
        let mut reader = Self {
            input,
            at: 0,
            path: b"json".to_vec(),
            text: Vec::new(),
            depth_left: limits.depth,
            limits,
            value,
        };
        reader.skip_space();
        reader
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Read {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => {
                self.string()?;
                (self.value)(&self.path, &self.text);
                Ok(())
            }
            Some(_) => self.word(),
            None => Err(BodyError::Malformed("the JSON ends where a value should be")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Read) -> Read {
        let Some(left) = self.depth_left.checked_sub(1) else {
            return Err(BodyError::TooMany { what: "levels of JSON", limit: self.limits.depth });
        };
        self.depth_left = left;
        self.at += 1;
        self.skip_space();
        read(self)?;
        self.depth_left += 1;
        Ok(())
    }

    fn object(&mut self) -> Read {
        if self.take(b'}') {
            (self.value)(&self.path, b"");
            return Ok(());
        }
        let outer = self.path.len();
        loop {
            if self.peek() != Some(b'"') {
                return Err(BodyError::Malformed("a JSON member has no name in quotes"));
            }
            self.string()?;
            let is_plain =
                |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.$ ".contains(byte) || !byte.is_ascii();
            if !self.text.iter().all(is_plain) {
                (self.value)(&self.path, &self.text);
            }
            self.path.push(b'.');
            self.path.extend_from_slice(&self.text);
            self.skip_space();
            if !self.take(b':') {
                return Err(BodyError::Malformed("a JSON member has no `:` after its name"));
            }
            self.skip_space();
            self.value()?;
            self.path.truncate(outer);
            match self.separator(b'}') {
                Some(true) => return Ok(()),
                Some(false) => {}
                None => return Err(BodyError::Malformed("a JSON object is neither continued nor closed")),
            }
        }
    }

    fn array(&mut self) -> Read {
        if self.take(b']') {
            (self.value)(&self.path, b"");
            return Ok(());
        }
        loop {
            self.value()?;
            match self.separator(b']') {
                Some(true) => return Ok(()),
                Some(false) => {}
                None => break,
            }
        }
        Err(BodyError::Malformed("a JSON array is neither continued nor closed"))
    }

    /// After a value: whether the container closes, or goes on; `None` if it does neither.
    fn separator(&mut self, close: u8) -> Option<bool> {
        self.skip_space();
        if self.take(close) {
            return Some(true);
        }
        let goes_on = self.take(b',');
        self.skip_space();
        goes_on.then_some(false)
    }

    /// A number, `true`, `false` or `null`, checked to be one; or a number that JSON does not have but common readers
    /// do.
    fn word(&mut self) -> Read {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        {
            self.at += 1;
        }
        let word = self.input.get(start..self.at).unwrap_or(&[]);
        let is_word = matches!(word, b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity")
            || is_number(word);
        if !is_word {
            return Err(BodyError::Malformed("expected a JSON value"));
        }
        (self.value)(&self.path, word);
        Ok(())
    }

    /// A string into `text`, unescaped.
    fn string(&mut self) -> Read {
        self.at += 1;
        self.text.clear();
        loop {
            let rest = self.input.get(self.at..).unwrap_or(&[]);
            let Some(plain) = memchr::memchr2(b'"', b'\\', rest) else {
                return Err(BodyError::Malformed("a JSON string is not closed"));
            };
            let run = rest.get(..plain).unwrap_or(&[]);
            if run.iter().any(|byte| *byte < 0x20) {
                return Err(BodyError::Malformed("a JSON string has a control character"));
            }
            self.text.extend_from_slice(run);
            self.at += plain + 1;
            if rest.get(plain) == Some(&b'"') {
                return Ok(());
            }
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Read {
        let letter = self.peek();
        self.at += 1;
        let byte = match letter {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(BodyError::Malformed("a JSON string has an unknown escape")),
        };
        self.text.push(byte);
        Ok(())
    }

    /// After `\u`: one UTF-16 unit, or a pair of surrogates.
    fn unicode(&mut self) -> Read {
        let unit = self.hex4().ok_or(BodyError::Malformed("a JSON `\\u` escape is cut off"))?;
        let pair = (0xd800..0xdc00).contains(&unit) && self.input.get(self.at..self.at + 2) == Some(b"\\u");
        let code = if pair {
            let before = self.at;
            self.at += 2;
            match self.hex4() {
                Some(low @ 0xdc00..0xe000) => 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00),
                _ => {
                    self.at = before;
                    unit
                }
            }
        } else {
            unit
        };
        // A lone surrogate is no character; what applications make of it differs, so it is kept visible.
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.input.get(self.at..self.at + 4)?;
        let value = digits.iter().try_fold(0, |n, byte| Some(n << 4 | char::from(*byte).to_digit(16)?))?;
        self.at += 4;
        Some(value)
    }
}

/// RFC 8259 section 6.
fn is_number(word: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let unsigned = word.strip_prefix(b"-").unwrap_or(word);
    let integer = digits(unsigned);
    if integer == 0 || (integer > 1 && unsigned.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = unsigned.get(integer..).unwrap_or(&[]);
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or(&[]);
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent =
            exponent.strip_prefix(b"+").or_else(|| exponent.strip_prefix(b"-")).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// Where the quote stands that ends the string whose text begins at `from`, or the end of the input. For readers that
/// look into JSON without reading all of it.
pub fn end_of_string(input: &[u8], from: usize) -> usize {
    let mut at = from.min(input.len());
    while let Some(offset) = input.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += offset;
        if input.get(at) == Some(&b'"') {
            return at;
        }
        // What a backslash stands before is part of the string.
        at += 2;
    }
    input.len()
}

/// Whether an odd number of backslashes stands before this place.
pub fn is_escaped(input: &[u8], at: usize) -> bool {
    let before = input.get(..at).unwrap_or(input);
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(text: &str) -> Result<String, BodyError> {
        let mut out = String::new();
        read(text.as_bytes(), Limits { depth: 4 }, &mut |path, value| {
            out.push_str(&format!("{}={};", String::from_utf8_lossy(path), String::from_utf8_lossy(value)));
        })?;
        Ok(out)
    }

    #[test]
    fn flattens_and_keeps_every_value() {
        let text = r#" {"a":[1,{"b":"x\u0027\/"},[]],"a.b":true,"":null,"e":"\ud83d\ude00"} "#;
        assert_eq!(flat(text).unwrap(), r"json.a=1;json.a.b=x'/;json.a=;json.a.b=true;json.=null;json.e=😀;");
        assert_eq!(flat("\"x\"").unwrap(), "json=x;");
        assert_eq!(flat("{\"a\":{\"'b\":1,\"c d\":2}}").unwrap(), "json.a='b;json.a.'b=1;json.a.c d=2;");
        assert_eq!(flat("-1.5e+3").unwrap(), "json=-1.5e+3;");
        assert_eq!(flat("[NaN,-Infinity]").unwrap(), "json=NaN;json=-Infinity;");
    }

    #[test]
    fn a_string_ends_at_the_first_quote_that_is_not_escaped() {
        for (text, end) in
            [(r#"a" b"#, 1), (r#"a\\" b"#, 3), (r#"a\\\"b" c"#, 6), (r#"\"""#, 2), ("", 0), (r"no end\\", 8)]
        {
            assert_eq!(end_of_string(text.as_bytes(), 0), end, "{text}");
            let quotes = text.bytes().enumerate().filter(|(_, byte)| *byte == b'"');
            let first = quotes.map(|(at, _)| at).find(|at| !is_escaped(text.as_bytes(), *at));
            assert_eq!(first.unwrap_or(text.len()), end, "{text}");
        }
        assert_eq!(end_of_string(b"x", 5), 1);
    }

    #[test]
    fn values_in_a_row_are_read_each() {
        let mut count = 0;
        let mut read = |text: &[u8]| read_sequence(text, Limits { depth: 4 }, &mut |_, _| count += 1);
        assert_eq!(read(b" {\"a\":1}\n[2,3] \"x\"\n"), Ok(()));
        assert!(read(b"{} x").is_err() && read(b"").is_err());
        assert_eq!(count, 5);
    }

    #[test]
    fn escapes_are_undone_wherever_they_stand() {
        for (text, expected) in [
            (&br#" {/*"*/'a':"\u0027\q\ud83d\ude00\"#[..], Some(" {/*\"*/'a':\"'\\q😀\\".as_bytes())),
            (br"\u00 \u003c", Some(&br"\u00 <"[..])),
            (b"{x}", None),
        ] {
            assert_eq!(unescaped(text).as_deref(), expected, "{:?}", text.escape_ascii().to_string());
        }
    }

    #[test]
    fn refuses_what_is_not_json_or_too_deep() {
        for text in [
            "",
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "01",
            "1.",
            "tru",
            "\"\n\"",
            "\"\\x\"",
            "1 2",
            "\"\\u12\"",
            "[[[[[1]]]]]",
        ] {
            assert!(flat(text).is_err(), "{text:?} must be refused");
        }
        assert_eq!(flat("[[[[[1]]]]]"), Err(BodyError::TooMany { what: "levels of JSON", limit: 4 }));
    }
}
