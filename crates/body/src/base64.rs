//! Base64 (RFC 4648 section 4), bit by bit: who calls says what an odd byte means.

/// The value of a byte of the standard alphabet; `=` has none.
pub fn sextet(byte: u8) -> Option<u8> {
    SEXTETS.get(usize::from(byte)).copied().filter(|value| *value != NONE)
}

/// Stands for no value.
const NONE: u8 = 255;

/// The value of each byte.
static SEXTETS: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sextets = [NONE; 256];
    let mut rest = alphabet.as_slice();
    let mut value = 0;
    while let [byte, tail @ ..] = rest {
        sextets[*byte as usize] = value;
        value += 1;
        rest = tail;
    }
    sextets
};

/// Appends the bytes of sextets; bits that do not fill a byte are dropped.
pub fn decode(sextets: impl IntoIterator<Item = u8>, out: &mut impl Extend<u8>) {
    let (mut bits, mut held) = (0u32, 0u32);
    for value in sextets {
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.extend([(bits >> held).to_le_bytes()[0]]);
        }
    }
}

/// Appends the bytes of what is Base64 from the first byte on, up to one that is none.
pub fn decode_prefix(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let [a, b, c, d, tail @ ..] = rest
        && let (Some(a), Some(b), Some(c), Some(d)) = (sextet(*a), sextet(*b), sextet(*c), sextet(*d))
    {
        out.extend_from_slice(&[a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
        rest = tail;
    }
    decode(rest.iter().map_while(|byte| sextet(*byte)), out);
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
        for end in 0..=12 {
            let text = b"Zm9vYmFyZm9v".get(..end).unwrap();
            for tail in ["", "=", "=Zm9v", " Zm9vYmFy"] {
                let mut out = Vec::new();
                decode_prefix(&[text, tail.as_bytes()].concat(), &mut out);
                assert_eq!(out, b"foobarfoo".get(..end * 6 / 8).unwrap());
            }
        }
        assert_eq!(decode_all(*b"Zg=="), None);
        assert_eq!(decode_all(*b"+/8"), Some(vec![0xfb, 0xff]));
    }
}
