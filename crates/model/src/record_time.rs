//! When a record was made or changed.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// When a record was made or changed, to the microsecond. It is written in RFC 3339, in UTC and with all six digits; a
/// time that is not known is an empty text. A zone has millions of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordTime(
    /// Microseconds since 1970; 0 if not known.
    i64,
);

impl RecordTime {
    /// Reads a time in RFC 3339, or an empty text.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let time: Timestamp = text
            .parse()
            .map_err(|_| format!("`{text}` is no time such as `2000-01-31T00:00:00Z` (RFC 3339)"))?;
        Ok(Self(time.as_microsecond()))
    }
}

impl From<SystemTime> for RecordTime {
    fn from(at: SystemTime) -> Self {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_micros()).unwrap_or(0))
    }
}

impl fmt::Display for RecordTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(time) if self.0 != 0 => write!(f, "{time:.6}"),
            _ => Ok(()),
        }
    }
}

impl Serialize for RecordTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RecordTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_were_read() {
        for text in ["2026-11-29T10:21:29.368052Z", "1970-01-01T00:00:00.000001Z", ""] {
            let time = RecordTime::parse(text).unwrap();
            assert_eq!(time.to_string(), text);
            let json = serde_json::to_string(&time).unwrap();
            assert_eq!(serde_json::from_str::<RecordTime>(&json).unwrap(), time);
        }
        let [earlier, later] =
            ["2026-11-29T10:21:29Z", "2026-11-29T10:21:29.5Z"].map(|text| RecordTime::parse(text).unwrap());
        assert!(RecordTime::default() < earlier && earlier < later);
        assert_eq!(later.to_string(), "2026-11-29T10:21:29.500000Z");
        assert_eq!(
            RecordTime::from(UNIX_EPOCH + std::time::Duration::from_micros(1)).to_string(),
            "1970-01-01T00:00:00.000001Z"
        );
        assert!(RecordTime::parse("yesterday").is_err());
    }
}
