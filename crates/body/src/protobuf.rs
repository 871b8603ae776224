//! Messages of Protocol Buffers (its "Encoding"), read without their definition.
//!
//! The encoding does not tell a text from a message in a message: what can be read as a message is, and all else
//! is a text. A message whose numbers of fixed width are letters is taken for a text as well, because a text may
//! be made so that it can be read as a message.

/// Calls with the path and the bytes of every text of a message. Paths are `grpc.1.2`, by the numbers of fields;
/// what is no message is one text, as is what nests deeper than `depth`.
pub fn read(message: &[u8], depth: usize, value: &mut dyn FnMut(&[u8], &[u8])) {
    read_at(message, depth, &mut b"grpc".to_vec(), value);
}

fn read_at(message: &[u8], depth: usize, path: &mut Vec<u8>, value: &mut dyn FnMut(&[u8], &[u8])) {
    let kind = kind(message);
    if kind != Kind::Message || depth == 0 {
        value(path, message);
    }
    if kind == Kind::Text || depth == 0 {
        return;
    }
    for (number, field) in (Fields { rest: message }).flatten() {
        let Field::Bytes(bytes) = field else { continue };
        let path_bytes = path.len();
        path.push(b'.');
        path.extend_from_slice(number.to_string().as_bytes());
        read_at(bytes, depth - 1, path, value);
        path.truncate(path_bytes);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Text,
    /// It can be read as either.
    Either,
}

fn kind(bytes: &[u8]) -> Kind {
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    let mut fields = Fields { rest: bytes };
    let mut kind = if !bytes.is_empty() && bytes.iter().all(is_plain) { Kind::Either } else { Kind::Message };
    loop {
        match fields.next() {
            Some(Ok((_, Field::Fixed(number)))) if number.iter().all(|byte| matches!(byte, b' '..=b'~')) => {
                kind = Kind::Either;
            }
            Some(Ok(_)) => {}
            Some(Err(NotMessage)) => return Kind::Text,
            None => return kind,
        }
    }
}

enum Field<'m> {
    Varint,
    /// Four or eight bytes.
    Fixed(&'m [u8]),
    Bytes(&'m [u8]),
}

struct NotMessage;

struct Fields<'m> {
    rest: &'m [u8],
}

impl<'m> Fields<'m> {
    fn varint(&mut self) -> Option<u64> {
        const MAX_BYTES: usize = 10;
        let mut value = 0u64;
        for nth in 0..MAX_BYTES {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f).checked_shl(7 * nth as u32).unwrap_or(0);
            if *byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, bytes: u64) -> Option<&'m [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Field<'m>)> {
        const MAX_NUMBER: u64 = (1 << 29) - 1;
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number > MAX_NUMBER {
            return None;
        }
        let field = match tag & 7 {
            0 => self.varint().map(|_| Field::Varint)?,
            1 => Field::Fixed(self.take(8)?),
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Fixed(self.take(4)?),
            // Groups, which nothing sends any more, and what was never given out.
            _ => return None,
        };
        Some((number, field))
    }
}

impl<'m> Iterator for Fields<'m> {
    type Item = Result<(u64, Field<'m>), NotMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field().ok_or(NotMessage);
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(message: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        read(message, 4, &mut |path, text| {
            found.push((String::from_utf8(path.to_vec()).unwrap(), text.to_vec()));
        });
        found
    }

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    #[test]
    fn texts_are_found_at_every_depth() {
        let inner = [field(2, b"deep\x01"), vec![0x08, 0x96, 0x01]].concat();
        let message = [field(1, b"hello"), field(3, &inner), vec![0x0d, 0, 0, 0x80, 0x3f]].concat();
        let expected =
            [("grpc.1", &b"hello"[..]), ("grpc.3.2", b"deep\x01")].map(|(p, t)| (p.to_owned(), t.to_vec()));
        assert_eq!(texts(&message), expected);
        assert_eq!(texts(b""), []);
    }

    #[test]
    fn what_is_no_message_is_a_text() {
        let group = [0x0b, b'a'];
        for text in [&b"id=1' union select"[..], &group, b"\x0a\x05ab", b"\x00\x01", b"\xff\xff\xff"] {
            assert_eq!(texts(text), [("grpc".to_owned(), text.to_vec())], "{text:?}");
        }
    }

    #[test]
    fn nothing_hides_in_numbers() {
        // Fields 1 and 2 of eight bytes each.
        let hidden = b"\x11' or 1=1\x11 or 'a'='";
        assert_eq!(texts(&field(1, hidden)), [("grpc.1".to_owned(), hidden.to_vec())]);
        let mut deep = b"x\x01".to_vec();
        for _ in 0..10 {
            deep = field(1, &deep);
        }
        let found = texts(&deep);
        assert!(found.len() == 1 && found[0].1.ends_with(b"x\x01"), "{found:?}");
    }
}
