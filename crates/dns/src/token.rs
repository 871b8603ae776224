//! Words of zone files: plain, or in quotes, with `\X` and `\DDD` (RFC 1035 section 5.1).

use std::fmt::Write;

/// The bytes that a word stands for, which is given without its quotes.
///
/// # Errors
/// One sentence if an escape is none.
pub(crate) fn bytes_of(word: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'\\' { escaped(&mut rest, word)? } else { byte });
    }
    Ok(bytes)
}

/// What follows a backslash in a text: a character, or three digits.
///
/// # Errors
/// One sentence, with the text, if it is neither.
pub(crate) fn escaped(bytes: &mut impl Iterator<Item = u8>, text: &str) -> Result<u8, String> {
    let mut read = || {
        let first = bytes.next()?;
        if !first.is_ascii_digit() {
            return Some(first);
        }
        let mut number = u32::from(first - b'0');
        for _ in 0..2 {
            number = number * 10 + u32::from(bytes.next().filter(u8::is_ascii_digit)? - b'0');
        }
        u8::try_from(number).ok()
    };
    read()
        .ok_or_else(|| format!("`{text:.80}` has a backslash without a character or three digits up to 255"))
}

/// Takes a line apart into words, without their quotes. Brackets and comments have no meaning here.
///
/// # Errors
/// One sentence if a quote has no end, or a word stands at a quote without a space.
pub(crate) fn tokens(line: &str) -> Result<Vec<&str>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (token, behind) = token(rest)?;
        tokens.push(token);
        rest = behind.trim_start();
    }
    Ok(tokens)
}

/// The word at the start of a text that begins with one, without its quotes, and what is behind it.
///
/// # Errors
/// As of [`tokens`].
pub(crate) fn token(text: &str) -> Result<(&str, &str), String> {
    let quoted = text.strip_prefix('"');
    let body = quoted.unwrap_or(text);
    let mut is_escaped = false;
    for (at, character) in body.char_indices() {
        let is_end = match quoted {
            Some(_) => character == '"',
            None => character.is_ascii_whitespace() || character == '"',
        };
        if is_end && !is_escaped {
            let (word, behind) = body.split_at_checked(at).unwrap_or((body, ""));
            let behind = if quoted.is_some() { behind.get(1..).unwrap_or("") } else { behind };
            let is_followed = behind.starts_with(|next: char| !next.is_ascii_whitespace() && next != '"');
            if quoted.is_some() && is_followed {
                return Err(format!("expected a space behind the quote that ends `\"{word:.60}\"`"));
            }
            if quoted.is_none() && character == '"' {
                return Err(format!("expected a space before the quote behind `{word:.60}`"));
            }
            return Ok((word, behind));
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    match quoted {
        Some(_) => Err(format!("the quote at `\"{body:.60}` has no end")),
        None => Ok((body, "")),
    }
}

/// Writes bytes as a word in quotes: what is UTF-8 and has no control characters stays readable.
pub(crate) fn quote(bytes: &[u8], out: &mut String) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                ' '..='~' => out.push(character),
                character if !character.is_control() => out.push(character),
                character => {
                    let mut encoded = [0; 4];
                    character.encode_utf8(&mut encoded).bytes().for_each(|byte| digits(byte, out));
                }
            }
        }
        chunk.invalid().iter().for_each(|&byte| digits(byte, out));
    }
    out.push('"');
}

fn digits(byte: u8, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(out, "\\{byte:03}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart_and_quoted_again() {
        let found = tokens(r#"  10 "a b" "c\"d" e\ f "\000\\" "é" "#).unwrap();
        let bytes: Vec<Vec<u8>> = found.iter().map(|word| bytes_of(word).unwrap()).collect();
        let expected: [&[u8]; 6] = [b"10", b"a b", b"c\"d", b"e f", b"\0\\", "é".as_bytes()];
        assert_eq!(bytes, expected);
        for bytes in expected {
            let mut quoted = String::new();
            quote(bytes, &mut quoted);
            assert_eq!(bytes_of(tokens(&quoted).unwrap()[0]).unwrap(), bytes, "{quoted}");
        }
        let mut quoted = String::new();
        quote(b"\xff\n\x7f", &mut quoted);
        assert_eq!(quoted, r#""\255\010\127""#);
        assert_eq!(tokens(r#""a""b""#).unwrap().len(), 2);
    }

    #[test]
    fn quotes_that_do_not_fit_are_refused() {
        for line in [r#""a"#, r#"a"b""#, r#""a"b"#, r#""a\""#, r#"a" b"#] {
            assert!(tokens(line).is_err(), "{line}");
        }
        for word in ["\\", "\\2", "\\25x", "\\999"] {
            assert!(bytes_of(word).is_err(), "{word}");
        }
    }
}
