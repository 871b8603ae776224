//! Base58Check, as Bitcoin defines it: base 58 without 0, O, I and l, four bytes of a double SHA-256 at
//! the end.

use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Longest text: an extended key has 111 characters.
const MAX_TEXT_BYTES: usize = 128;

/// The bytes without their checksum; `None` if it does not hold.
pub fn decode_check(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > MAX_TEXT_BYTES {
        return None;
    }
    // Base 256, the lowest byte first.
    let mut bytes: Vec<u8> = Vec::new();
    for character in text {
        let mut carry = ALPHABET.iter().position(|known| known == character)?;
        for byte in &mut bytes {
            carry += usize::from(*byte) * 58;
            *byte = u8::try_from(carry % 256).ok()?;
            carry /= 256;
        }
        while carry > 0 {
            bytes.push(u8::try_from(carry % 256).ok()?);
            carry /= 256;
        }
    }
    // A leading 1 is a zero byte.
    bytes.extend(text.iter().take_while(|character| **character == b'1').map(|_| 0));
    bytes.reverse();
    let check = bytes.split_off(bytes.len().checked_sub(4)?);
    let hash = Sha256::digest(Sha256::digest(&bytes));
    hash.starts_with(&check).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_is_checked() {
        let hash = decode_check(b"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2").unwrap();
        assert_eq!((hash.len(), hash.first()), (21, Some(&0)));
        assert_eq!(decode_check(b"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3"), None);
        assert_eq!(decode_check(b"0OIl"), None);
        assert_eq!(decode_check(b""), None);
        assert_eq!(decode_check(&[b'z'; 200]), None);
    }
}
