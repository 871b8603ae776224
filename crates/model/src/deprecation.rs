//! How what ends is served: modes, and the settings of accounts and tokens.

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::word::serde_by_word;

/// How something that ends is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeprecationMode {
    /// As ever.
    Legacy,
    /// As ever, and each answer says when it ends.
    Warn,
    /// No longer: its use is refused, or ignored where that was announced, and the answer names the replacement.
    Enforce,
    /// As if it had never been.
    Gone,
}

serde_by_word!(DeprecationMode, "mode of a deprecation");

impl DeprecationMode {
    pub const ALL: [Self; 4] = [Self::Legacy, Self::Warn, Self::Enforce, Self::Gone];

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
            Self::Gone => "gone",
        }
    }

    /// Whether what ends is still served.
    pub fn is_served(self) -> bool {
        matches!(self, Self::Legacy | Self::Warn)
    }
}

/// How an account or a token has what ends. What it does not say, those around it say: a token's account, then the
/// configuration, then the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeprecationSettings {
    /// The day at which the calendar is read, in place of today.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<CalendarDate>,
    /// By the ids of rows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<String, DeprecationMode>,
}

impl DeprecationSettings {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A day, written `YYYY-MM-DD`. It begins at midnight UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CalendarDate(Date);

impl CalendarDate {
    /// Reads a day; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let is_form = text.len() == 10
            && text.bytes().enumerate().all(|(nth, byte)| match nth {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        is_form.then(|| text.parse().ok().map(Self)).flatten()
    }

    /// The day of a time in seconds since the epoch; the last day that can be written if it is later.
    pub fn of_unix(seconds: u64) -> Self {
        let at = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
        Self(at.unwrap_or(jiff::Timestamp::MAX).to_zoned(jiff::tz::TimeZone::UTC).date())
    }

    /// When it begins, in seconds since the epoch; 0 for days before it.
    pub fn unix(self) -> u64 {
        let begins = self.0.to_zoned(jiff::tz::TimeZone::UTC).map(|at| at.timestamp().as_second());
        begins.ok().and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0)
    }

    /// The day that is this many days later; earlier if the number is negative.
    #[must_use]
    pub fn plus_days(self, days: i32) -> Self {
        Self(self.0.saturating_add(jiff::Span::new().days(days)))
    }

    /// Days from this day to another.
    pub fn days_until(self, other: Self) -> i32 {
        self.0.until(other.0).map_or(0, |span| span.get_days())
    }

    /// As a header has it (RFC 9110 section 5.6.7).
    pub fn http_date(self) -> String {
        self.0.strftime("%a, %d %b %Y 00:00:00 GMT").to_string()
    }
}

impl fmt::Display for CalendarDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for CalendarDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CalendarDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("expected a day such as `2025-06-15`, found `{text:.40}`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_strictly_and_counted() {
        let day = CalendarDate::parse("2024-02-28").unwrap();
        assert_eq!(day.plus_days(2).to_string(), "2024-03-01");
        assert_eq!(day.days_until(CalendarDate::parse("2025-02-28").unwrap()), 366);
        assert_eq!(CalendarDate::of_unix(day.unix() + 86_399), day);
        assert_eq!(CalendarDate::of_unix(day.unix() + 86_400), day.plus_days(1));
        assert_eq!(day.http_date(), "Wed, 28 Feb 2024 00:00:00 GMT");
        for wrong in ["", "2024-2-28", "20240228", "2024-02-30", "2024-02-28T", "2024-13-01", "2024_02_28"] {
            assert_eq!(CalendarDate::parse(wrong), None, "{wrong}");
        }
        assert_eq!(CalendarDate::of_unix(u64::MAX).to_string(), "9999-12-30");
    }
}
