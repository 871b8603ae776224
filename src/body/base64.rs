//! Base64 (RFC 4648 section 4), bit by bit: who calls says what an odd byte means.

/// The value of a byte of the standard alphabet; `=` has none.
pub fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Appends the bytes of sextets; bits that do not fill a byte are dropped.
pub fn decode(sextets: impl IntoIterator<Item = u8>, out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u32, 0u32);
    for value in sextets {
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held).to_le_bytes()[0]);
        }
    }
}

/// The bytes of a text whose every byte is of the alphabet.
pub fn decode_all(text: impl IntoIterator<Item = u8>) -> Option<Vec<u8>> {
    let sextets: Vec<u8> = text.into_iter().map(sextet).collect::<Option<_>>()?;
    let mut out = Vec::with_capacity(sextets.len() * 3 / 4);
    decode(sextets, &mut out);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_rfc() {
        for (text, bytes) in [
            ("", ""),
            ("Zg", "f"),
            ("Zm8", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg", "foob"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode_all(text.bytes()).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode_all(*b"Zg=="), None);
        assert_eq!(decode_all(*b"+/8"), Some(vec![0xfb, 0xff]));
    }
}
