//! Bodies in UTF-16, and byte order marks: readers of JSON and XML take both without being told (RFC 4627 section 3,
//! XML 1.0 appendix F).

/// A body as UTF-8 and without a byte order mark, if it is not so already: UTF-16 with a mark, or without one if it
/// begins as JSON or XML begins. A surrogate of no pair becomes U+FFFD.
pub fn to_utf8(body: &[u8]) -> Option<Vec<u8>> {
    match body {
        [0xef, 0xbb, 0xbf, rest @ ..] => Some(rest.to_vec()),
        [0xfe, 0xff, rest @ ..] => Some(decode(rest, u16::from_be_bytes)),
        [0xff, 0xfe, rest @ ..] => Some(decode(rest, u16::from_le_bytes)),
        [0, b'{' | b'[' | b'"' | b'<', ..] => Some(decode(body, u16::from_be_bytes)),
        [b'{' | b'[' | b'"' | b'<', 0, ..] => Some(decode(body, u16::from_le_bytes)),
        _ => None,
    }
}

fn decode(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let letters = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read_and_utf_8_left_alone() {
        for (body, expected) in [
            (&b"\xef\xbb\xbf{}"[..], Some(&b"{}"[..])),
            (b"\xfe\xff\0[\0]", Some(b"[]")),
            (b"\xff\xfe[\0]\0x", Some(b"[]")),
            (b"\0\"\0a\0\"", Some(b"\"a\"")),
            (b"<\0\x3d\xd8\x00\xde", Some("<😀".as_bytes())),
            (b"<\0\x3d\xd8", Some("<\u{fffd}".as_bytes())),
            (b"{}", None),
            (b"\0a", None),
            (b"", None),
        ] {
            assert_eq!(to_utf8(body).as_deref(), expected, "{body:?}");
        }
    }
}
