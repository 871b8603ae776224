//! Bodies in UTF-16 become UTF-8; those in every other charset are scanned as the bytes they are, for ASCII
//! stands for itself in them.

use zeroize::Zeroizing;

use body::charset::decode_utf16;

/// The two orders of bytes of UTF-16 (RFC 2781).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    LittleEndian,
    BigEndian,
}

/// The body as UTF-8 if it is UTF-16: by the mark that it begins with, by its declared charset, or by every
/// other one of its first bytes being zero. Offsets in it are those of the text, not of the body.
pub fn utf8(body: &[u8], content_type: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (order, text) = match body {
        [0xFF, 0xFE, text @ ..] => (Order::LittleEndian, text),
        [0xFE, 0xFF, text @ ..] => (Order::BigEndian, text),
        _ => (order(body, content_type)?, body),
    };
    let unit = match order {
        Order::LittleEndian => u16::from_le_bytes,
        Order::BigEndian => u16::from_be_bytes,
    };
    // Three bytes for each two: it never grows, which would leave a copy behind.
    let mut utf8 = Zeroizing::new(Vec::with_capacity(text.len() / 2 * 3));
    decode_utf16(text, unit, &mut utf8);
    Some(utf8)
}

fn order(body: &[u8], content_type: &[u8]) -> Option<Order> {
    let declared = content_type.to_ascii_lowercase();
    let declares = |charset: &[u8]| memchr::memmem::find(&declared, charset).is_some();
    match body {
        [first, 0, second, 0, ..] if *first > 0 && *second > 0 => Some(Order::LittleEndian),
        [0, first, 0, second, ..] if *first > 0 && *second > 0 => Some(Order::BigEndian),
        _ if declares(b"utf-16le") => Some(Order::LittleEndian),
        _ if declares(b"utf-16") => Some(Order::BigEndian),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str, order: Order) -> Vec<u8> {
        let bytes = |unit: u16| match order {
            Order::LittleEndian => unit.to_le_bytes(),
            Order::BigEndian => unit.to_be_bytes(),
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn utf_16_is_known_by_mark_charset_or_zeros() {
        let text = "{\"name\":\"Zoë 🦊 身份证\"}";
        let (little, big) = (encoded(text, Order::LittleEndian), encoded(text, Order::BigEndian));
        let marked = |mark: [u8; 2], body: &[u8]| [&mark[..], body].concat();
        for (body, content_type) in [
            (marked([0xFF, 0xFE], &little), "text/plain"),
            (marked([0xFE, 0xFF], &big), "text/plain; charset=utf-16le"),
            (little.clone(), "application/json"),
            (big.clone(), "application/json"),
        ] {
            assert_eq!(utf8(&body, content_type.as_bytes()).unwrap().as_slice(), text.as_bytes());
        }
        let ideographs = "身份证";
        for (charset, order) in [("UTF-16LE", Order::LittleEndian), ("utf-16", Order::BigEndian)] {
            let content_type = format!("text/plain; charset={charset}");
            let body = encoded(ideographs, order);
            assert_eq!(
                utf8(&body, content_type.as_bytes()).unwrap().as_slice(),
                ideographs.as_bytes(),
                "{charset}"
            );
        }
    }

    #[test]
    fn other_bodies_are_left_and_broken_ones_lose_only_what_is_broken() {
        for body in [&b""[..], b"a", b"ab", b"plain text", b"\0\0\0\0", b"a\0\0\0"] {
            assert_eq!(utf8(body, b"text/plain; charset=utf-8"), None, "{body:?}");
        }
        // Half a pair, and a byte too many.
        let broken = [0xFF, 0xFE, b'a', 0, 0x00, 0xD8, b'b', 0, b'c'];
        assert_eq!(utf8(&broken, b"").unwrap().as_slice(), "a\u{fffd}b".as_bytes());
    }
}
