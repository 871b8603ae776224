//! The body of a request as expressions see it.
//!
//! What a client declares is not believed where an origin may not care: a form and JSON are read whatever the type of
//! the body is said to be. Of what breaks off, the part before is read.

use std::cell::RefCell;
use std::sync::OnceLock;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use body::{charset, multipart, urlencoded};

/// Most parts of a multipart body that are read.
const MAX_PARTS: usize = 1000;

/// A body that was read before rules are asked, with its content coding undone.
pub struct ReadBody<B> {
    bytes: B,
    /// Whether there is more of it.
    is_truncated: bool,
    content_type: Vec<u8>,
    form: OnceLock<OwnedPairs>,
    multipart: OnceLock<OwnedPairs>,
    json: OnceLock<OwnedPairs>,
}

/// Names with what they stand for, in order.
type OwnedPairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A body, whatever keeps its bytes.
pub(super) trait BodyParts: Sync {
    fn raw(&self) -> &[u8];
    fn is_truncated(&self) -> bool;
    fn content_type(&self) -> &[u8];
    /// Names and values of a form in the query's coding.
    fn form(&self) -> &[(Vec<u8>, Vec<u8>)];
    /// Names and contents of the parts of `multipart/form-data` (RFC 7578).
    fn multipart(&self) -> &[(Vec<u8>, Vec<u8>)];
    /// Texts of the scalars of a JSON document, by their JSON pointers (RFC 6901).
    fn json(&self) -> &[(Vec<u8>, Vec<u8>)];
}

impl<B: AsRef<[u8]>> ReadBody<B> {
    /// A body with the value of its `Content-Type`.
    pub fn new(bytes: B, is_truncated: bool, content_type: &[u8]) -> Self {
        let content_type = content_type.to_vec();
        let (form, multipart, json) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { bytes, is_truncated, content_type, form, multipart, json }
    }

    /// In bytes.
    pub fn len(&self) -> usize {
        self.bytes.as_ref().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<B: AsRef<[u8]> + Sync> BodyParts for ReadBody<B> {
    fn raw(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    fn content_type(&self) -> &[u8] {
        &self.content_type
    }

    fn form(&self) -> &[(Vec<u8>, Vec<u8>)] {
        self.form.get_or_init(|| {
            let mut pairs = Vec::new();
            if !body::is_multipart(body::media_type(&self.content_type)) {
                let decoded = |text: &[u8]| {
                    let mut plain = Vec::with_capacity(text.len());
                    urlencoded::decode(text, &mut plain);
                    plain
                };
                urlencoded::read(self.raw(), |name, value| pairs.push((decoded(name), decoded(value))));
            }
            pairs
        })
    }

    fn multipart(&self) -> &[(Vec<u8>, Vec<u8>)] {
        self.multipart.get_or_init(|| {
            let mut pairs = Vec::new();
            if let Ok(form) = multipart::Form::of(&self.content_type, MAX_PARTS) {
                multipart::read(self.raw(), form, &mut |part| {
                    pairs.push((part.name, part.content.to_vec()));
                });
            }
            pairs
        })
    }

    fn json(&self) -> &[(Vec<u8>, Vec<u8>)] {
        self.json.get_or_init(|| {
            let walk = JsonWalk::default();
            // Readers that take other bytes than UTF-8 are common: one such byte must not hide what follows.
            let utf8 = charset::to_utf8(self.raw());
            let text = String::from_utf8_lossy(utf8.as_deref().unwrap_or(self.raw()));
            let mut deserializer = serde_json::Deserializer::from_str(&text);
            // What was read before a mistake counts.
            let _ = (&walk).deserialize(&mut deserializer);
            walk.pairs.into_inner()
        })
    }
}

/// Keeps each scalar of a document, also those of members with the same name.
#[derive(Default)]
struct JsonWalk {
    pointer: RefCell<Vec<u8>>,
    pairs: RefCell<OwnedPairs>,
}

impl JsonWalk {
    fn keep(&self, text: &[u8]) {
        self.pairs.borrow_mut().push((self.pointer.borrow().clone(), text.to_vec()));
    }

    /// Runs something with a part more of the pointer.
    fn within<T>(&self, part: &[u8], run: impl FnOnce() -> T) -> T {
        let length = self.pointer.borrow().len();
        {
            let mut pointer = self.pointer.borrow_mut();
            pointer.push(b'/');
            for byte in part {
                match byte {
                    b'~' => pointer.extend_from_slice(b"~0"),
                    b'/' => pointer.extend_from_slice(b"~1"),
                    other => pointer.push(*other),
                }
            }
        }
        let result = run();
        self.pointer.borrow_mut().truncate(length);
        result
    }
}

impl<'de> DeserializeSeed<'de> for &JsonWalk {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &JsonWalk {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, is: bool) -> Result<(), E> {
        self.keep(if is { b"true" } else { b"false" });
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.keep(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.keep(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.keep(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.keep(text.as_bytes());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.keep(b"null");
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut index = 0_usize;
        while self.within(index.to_string().as_bytes(), || elements.next_element_seed(self))?.is_some() {
            index += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            self.within(name.as_bytes(), || members.next_value_seed(self))?;
        }
        Ok(())
    }
}

impl<B> std::fmt::Debug for ReadBody<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadBody").field("is_truncated", &self.is_truncated).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        pairs.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect()
    }

    #[test]
    fn json_is_read_by_pointers_with_all_members_up_to_a_mistake() {
        for (body, expected) in [
            (
                r#"{"a":{"b/c":[1,"x",null,{"~":true}]},"a":2.5}"#,
                "/a/b~1c/0=1 /a/b~1c/1=x /a/b~1c/2=null /a/b~1c/3/~0=true /a=2.5",
            ),
            (r#""text""#, "=text"),
            (r#"{"a":1} {"a":2}"#, "/a=1"),
            (r#"{"a":1,"b":[2,}"#, "/a=1 /b/0=2"),
            (r#"{"\u0061":"\u0062"}"#, "/a=b"),
            ("\u{feff}[1]", "/0=1"),
            ("", ""),
            ("a=b", ""),
        ] {
            let body = ReadBody::new(body, false, b"text/plain");
            assert_eq!(texts(body.json()).join(" "), expected);
        }
        let bytes = ReadBody::new(b"{\"x\":\"\xff\",\"a\":1}", false, b"application/json");
        assert_eq!(texts(bytes.json())[1], "/a=1");
        let utf16: Vec<u8> = "\u{feff}{\"a\":1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(texts(ReadBody::new(utf16, false, b"application/json").json()), ["/a=1"]);
        let deep = ReadBody::new("[".repeat(100_000), false, b"application/json");
        assert!(deep.json().is_empty(), "depth is limited");
    }

    #[test]
    fn forms_are_read_whatever_they_are_called() {
        for content_type in ["application/x-www-form-urlencoded", "text/plain", ""] {
            let body = ReadBody::new("a=b%20c&a=%3C&d", false, content_type.as_bytes());
            assert_eq!(texts(body.form()), ["a=b c", "a=<", "d="], "{content_type}");
        }
        let parts = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb=c\r\n--x--\r\n";
        let body = ReadBody::new(parts, false, b"multipart/form-data; boundary=x");
        assert_eq!((texts(body.multipart()), texts(body.form())), (vec!["a=b=c".to_owned()], Vec::new()));
    }
}
