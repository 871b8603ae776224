//! Domain names (RFC 1035 section 3.1), in the one form in which all parts compare them: lower case.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::token::escaped;

/// Longest name in wire form (RFC 1035 section 2.3.4).
pub const MAX_WIRE_BYTES: usize = 255;
/// Longest label.
pub const MAX_LABEL_BYTES: usize = 63;

/// An absolute name in wire form: labels with their lengths, in lower case, and the root's zero. Copies share it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<[u8]>);

impl Name {
    /// Reads a name as zone files write it, with `\.` and `\DDD`; a name without a final dot is below `origin`, or
    /// absolute if there is none. `@` is the origin.
    ///
    /// # Errors
    /// One sentence: which rule the name breaks.
    pub fn parse(text: &str, origin: Option<&Self>) -> Result<Self, String> {
        if let (Some(origin), "@") = (origin, text) {
            return Ok(origin.clone());
        }
        let mut wire = Vec::with_capacity(text.len() + 2);
        if text != "." {
            let is_absolute = labels(text, &mut wire)?;
            if let Some(origin) = origin.filter(|_| !is_absolute) {
                wire.extend_from_slice(&origin.0);
            } else {
                wire.push(0);
            }
        } else {
            wire.push(0);
        }
        if wire.len() > MAX_WIRE_BYTES {
            return Err(format!("`{text:.80}` is too long: a name has at most 253 characters"));
        }
        Ok(Self(wire.into()))
    }

    /// A name in wire form, which is checked and brought to lower case.
    pub fn from_wire(wire: &[u8]) -> Option<Self> {
        let mut at = 0;
        while let Some(&length) = wire.get(at) {
            if length == 0 {
                let is_whole = at + 1 == wire.len() && wire.len() <= MAX_WIRE_BYTES;
                return is_whole.then(|| Self(wire.to_ascii_lowercase().into()));
            }
            if usize::from(length) > MAX_LABEL_BYTES {
                return None;
            }
            at += usize::from(length) + 1;
        }
        None
    }

    pub fn wire(&self) -> &[u8] {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// Its labels, the leftmost first.
    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        labels_of(&self.0)
    }

    /// How many labels it has; the root has none.
    pub fn count(&self) -> usize {
        self.labels().count()
    }

    /// The name without its first label; `None` of the root.
    pub fn parent(&self) -> Option<Self> {
        above(&self.0).map(|above| Self(above.into()))
    }

    /// Whether it is `other` or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        suffix_of(&self.0, other.0.len()).is_some_and(|suffix| *suffix == *other.0)
    }

    /// The name with a label before it; `None` if that is too long.
    pub fn below(&self, label: &[u8]) -> Option<Self> {
        let mut wire = vec![u8::try_from(label.len()).ok()?];
        wire.extend_from_slice(label);
        wire.extend_from_slice(&self.0);
        Self::from_wire(&wire)
    }
}

/// A name in wire form, whole or without its last labels, without its first label. `None` of the root and of nothing.
pub(crate) fn above(wire: &[u8]) -> Option<&[u8]> {
    let (&length, rest) = wire.split_first().filter(|(length, _)| **length > 0)?;
    rest.get(usize::from(length)..)
}

/// The labels of such a name.
pub(crate) fn labels_of(wire: &[u8]) -> impl Iterator<Item = &[u8]> {
    let names = std::iter::successors(Some(wire), |name| above(name));
    names.map_while(|name| name.split_first()).map_while(|(&length, rest)| {
        let length = usize::from(length);
        rest.get(..length).filter(|label| !label.is_empty())
    })
}

/// Whether the first label of such a name is `*`.
pub(crate) fn is_wildcard(wire: &[u8]) -> bool {
    wire.starts_with(&[1, b'*'])
}

/// The end of a name in wire form that has this many bytes; `None` if it would begin within a label.
pub(crate) fn suffix_of(wire: &[u8], bytes: usize) -> Option<&[u8]> {
    let mut names = std::iter::successors(Some(wire), |name| above(name));
    names.find(|name| name.len() <= bytes).filter(|name| name.len() == bytes)
}

/// Adds the labels of a text, without the root; whether the text ends with a dot.
fn labels(text: &str, wire: &mut Vec<u8>) -> Result<bool, String> {
    let mut bytes = text.bytes();
    loop {
        let start = wire.len();
        wire.push(0);
        let mut ended = true;
        while let Some(byte) = bytes.next() {
            match byte {
                b'.' => {
                    ended = false;
                    break;
                }
                b'\\' => wire.push(escaped(&mut bytes, text)?.to_ascii_lowercase()),
                byte => wire.push(byte.to_ascii_lowercase()),
            }
        }
        let length = wire.len() - start - 1;
        if length == 0 && ended && start > 0 {
            wire.pop();
            return Ok(true);
        }
        if !(1..=MAX_LABEL_BYTES).contains(&length) {
            let message =
                format!("`{text:.80}` has a label of {length} bytes: expected 1 to {MAX_LABEL_BYTES}");
            return Err(message);
        }
        // In bounds and at most 63.
        if let Some(byte) = wire.get_mut(start) {
            *byte = u8::try_from(length).unwrap_or(0);
        }
        if wire.len() > MAX_WIRE_BYTES {
            return Err(format!("`{text:.80}` is too long: a name has at most 253 characters"));
        }
        if ended {
            return Ok(false);
        }
    }
}

/// Without the final dot; the root is `.`.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for (nth, label) in self.labels().enumerate() {
            if nth > 0 {
                f.write_str(".")?;
            }
            for &byte in label {
                match byte {
                    b'.' | b'\\' | b'"' | b'(' | b')' | b';' | b'@' | b'$' => {
                        write!(f, "\\{}", char::from(byte))?;
                    }
                    0x21..=0x7E => write!(f, "{}", char::from(byte))?,
                    _ => write!(f, "\\{byte:03}")?,
                }
            }
        }
        Ok(())
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text, None).map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        let origin = Name::parse("example.com", None).unwrap();
        for (text, expected) in [
            ("www", "www.example.com"),
            ("@", "example.com"),
            ("WWW.Example.ORG.", "www.example.org"),
            ("a\\.b", "a\\.b.example.com"),
            ("a\\046b", "a\\.b.example.com"),
            ("*", "*.example.com"),
            (".", "."),
            ("\\000\\255.x.", "\\000\\255.x"),
        ] {
            let name = Name::parse(text, Some(&origin)).unwrap();
            assert_eq!(name.to_string(), expected, "{text}");
            let again = Name::parse(&format!("{name}."), None);
            assert!(name.is_root() || again.unwrap() == name, "{text}");
            assert_eq!(Name::from_wire(name.wire()).unwrap(), name);
        }
        for text in ["", "a..b", ".a", "a\\", "a\\25", "a\\256b", &"a".repeat(64), &"a.".repeat(128)] {
            assert!(Name::parse(text, Some(&origin)).is_err(), "{text}");
        }
    }

    #[test]
    fn names_know_what_is_above_them() {
        let name = |text: &str| Name::parse(text, None).unwrap();
        let www = name("www.example.com");
        assert!(www.is_within(&name("example.com")) && www.is_within(&www) && www.is_within(&name(".")));
        assert!(!www.is_within(&name("ample.com")) && !name("com").is_within(&www));
        assert_eq!((www.parent().unwrap(), www.count()), (name("example.com"), 3));
        assert_eq!(name(".").parent(), None);
        assert!(is_wildcard(name("*.a").wire()) && !is_wildcard(name("*a.a").wire()));
        assert_eq!(name("a").below(b"b").unwrap(), name("b.a"));
    }

    #[test]
    fn wire_that_is_no_name_is_refused() {
        for wire in [&b""[..], b"\x01", b"\x01a", b"\x40a\0", b"\0\0", &[63; 300]] {
            assert!(Name::from_wire(wire).is_none(), "{wire:?}");
        }
    }
}
