//! What a body looks like, whatever its content type says. Many servers read bodies without looking at the type, and
//! a client chooses what it declares.

/// What a body could be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    Json,
    Xml,
    /// Pairs as in `application/x-www-form-urlencoded`.
    Form,
    /// None of these.
    Other,
}

/// Names of fields are shorter.
const MAX_NAME_BYTES: usize = 256;

/// Judges by the first bytes alone: whether a body is well-formed is for its reader to say.
pub fn guess(body: &[u8]) -> Guess {
    match body.trim_ascii_start() {
        [b'{' | b'[' | b'"', ..] => Guess::Json,
        [b'<', ..] => Guess::Xml,
        start if begins_pairs(start) => Guess::Form,
        _ => Guess::Other,
    }
}

/// Whether it begins with a name and `=`.
fn begins_pairs(body: &[u8]) -> bool {
    let start = body.get(..MAX_NAME_BYTES).unwrap_or(body);
    let end = start.iter().position(|byte| !byte.is_ascii_graphic() || *byte == b'=');
    end.is_some_and(|end| end > 0 && start.get(end) == Some(&b'='))
}

/// Whether a body is text: it has no NUL, and at most one byte in 16 is a control character. Of compressed bytes, as in
/// pictures and archives, one in nine is; programs and archives without compression have NULs.
pub fn is_text(body: &[u8]) -> bool {
    let is_control = |byte: &&u8| matches!(byte, 1..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    memchr::memchr(0, body).is_none() && body.iter().filter(is_control).count() <= body.len() / 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_told_by_how_they_begin() {
        for (body, expected) in [
            (&b"\r\n {}"[..], Guess::Json),
            (b"\"x\"", Guess::Json),
            (b"<a/>", Guess::Xml),
            (b"a[b]=1&c", Guess::Form),
            (b"=1", Guess::Other),
            (b"the size = 3", Guess::Other),
            (b"\x89PNG\r\n=", Guess::Other),
            (b"", Guess::Other),
        ] {
            assert_eq!(guess(body), expected, "{body:?}");
        }
        assert!(
            is_text("M\u{fc}ller\r\n\tx".as_bytes())
                && is_text(b"")
                && !is_text(b"\x89PNG\r\n\x1a\n\x01\x02\x03")
                && !is_text(b"notes.txt\0\0\0\0\0the text of a file in an archive")
        );
    }
}
