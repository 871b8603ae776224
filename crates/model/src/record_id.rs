//! The id of a DNS record. A zone has millions of them, so that it is kept as bytes and not as text.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Written as 32 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// An id that no record has.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> Result<Self, String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| format!("the system has no random numbers: {error}"))?;
        Ok(Self(bytes))
    }

    /// `None` if the text is no id of a record.
    pub fn parse(text: &str) -> Option<Self> {
        let is_written_so =
            text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_written_so.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(|id| Self(id.to_be_bytes()))
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordId({self})")
    }
}

impl Serialize for RecordId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let wrong =
            || serde::de::Error::custom(format!("`{text:.60}` is no id of a record: expected 32 hex digits"));
        Self::parse(&text).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written_and_in_no_other_form() {
        let text = "00f1e2d3c4b5a69788796a5b4c3d2e0f";
        let id = RecordId::parse(text).unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(serde_json::from_str::<RecordId>(&serde_json::to_string(&id).unwrap()).unwrap(), id);
        let upper = text.to_uppercase();
        for wrong in [
            "",
            "1",
            &upper,
            &text[1..],
            &format!("{text}0"),
            &text.replace('f', "g"),
            &"é".repeat(16),
            &format!("+{}", &text[1..]),
        ] {
            assert!(RecordId::parse(wrong).is_none(), "{wrong}");
            assert!(serde_json::from_value::<RecordId>(wrong.into()).is_err(), "{wrong}");
        }
    }
}
