//! Texts of several lines.
//!
//! A program, a post or a mail has lines, and what runs from one line into the next there is no injection. Each of its
//! lines is judged by itself as well ([`super::fragment`]), so that lines around an attack hide nothing.

/// Lines are shorter on average if line breaks only stand for spaces.
const MIN_LINE_BYTES: usize = 12;
/// Lines that make a text.
const MIN_LINES: usize = 3;
/// As much of a value is looked at as tells.
const LOOKED_AT_BYTES: usize = 4096;

/// Whether a value is a text of several lines.
pub(crate) fn spans_lines(value: &[u8]) -> bool {
    let value = value.get(..LOOKED_AT_BYTES).unwrap_or(value);
    let lines = value.split(|byte| *byte == b'\n').filter(|line| has_word(line)).count();
    lines >= MIN_LINES && value.len() >= lines * MIN_LINE_BYTES
}

fn has_word(line: &[u8]) -> bool {
    line.windows(2).any(|pair| pair.iter().all(u8::is_ascii_alphabetic))
        || line.iter().any(|byte| *byte >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_make_a_document() {
        for document in [
            "SELECT id, name\nFROM users\nWHERE id = 5\nORDER BY name;",
            "Hello,\nthis is what I meant to send\nto all of you.",
            "1行目の文章です。\n2行目の文章です。\n3行目の文章です。",
        ] {
            assert!(spans_lines(document.as_bytes()), "{document}");
        }
        for field in [
            "",
            "1' OR '1'='1",
            "How do I explain to my team that `1' OR '1'='1` is an attack on the database?",
            "1\nor\n1=1\n--",
            "; cat /etc/passwd\n",
        ] {
            assert!(!spans_lines(field.as_bytes()), "{field}");
        }
    }
}
