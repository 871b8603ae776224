//! Bodies in UTF-16 and with byte order marks. Readers of JSON and XML recognise both by the first bytes (RFC 4627
//! section 3, XML 1.0 appendix F).

/// The UTF-8 text of a body that has a byte order mark, or that is UTF-16 and begins as JSON or XML begins. `None` for
/// any other body.
pub fn to_utf8(body: &[u8]) -> Option<Vec<u8>> {
    let mut utf8 = Vec::new();
    match body {
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8.extend_from_slice(rest),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes, &mut utf8),
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes, &mut utf8),
        [0, b'{' | b'[' | b'"' | b'<', ..] => decode_utf16(body, u16::from_be_bytes, &mut utf8),
        [b'{' | b'[' | b'"' | b'<', 0, ..] => decode_utf16(body, u16::from_le_bytes, &mut utf8),
        _ => return None,
    }
    Some(utf8)
}

/// Appends the text of UTF-16 as UTF-8, at most three bytes for each two; `unit` tells the order of bytes. An unpaired
/// surrogate becomes U+FFFD; half a unit at the end is dropped.
pub fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, utf8: &mut Vec<u8>) {
    let (units, _) = bytes.as_chunks::<2>();
    for character in char::decode_utf16(units.iter().map(|bytes| unit(*bytes))) {
        let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
        utf8.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
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
