//! Values with units as people write them: `"8KiB"`, `"10s"`.

use std::time::Duration;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub usize);

impl Bytes {
    pub const fn kib(n: usize) -> Self {
        Self(n << 10)
    }

    pub const fn mib(n: usize) -> Self {
        Self(n << 20)
    }

    /// Parses `"512"`, `"8KiB"`, `"10MiB"`, `"1GiB"` or their decimal kin `KB`, `MB`, `GB`.
    ///
    /// # Errors
    /// One sentence that shows the form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = split_number(text);
        let factor: usize = match unit {
            "" | "B" => 1,
            "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => 0,
        };
        let bytes = number.parse::<usize>().ok().and_then(|n| n.checked_mul(factor)).filter(|_| factor > 0);
        bytes.map(Self).ok_or_else(|| format!("expected a size such as `8KiB` or `10MB`, found `{text}`"))
    }
}

/// Parses `"500us"`, `"250ms"`, `"10s"`, `"5m"`, `"1h"` or `"7d"`.
///
/// # Errors
/// One sentence that shows the form.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_number(text);
    let unit = match unit {
        "us" => Some(1),
        "ms" => Some(1_000),
        "s" => Some(1_000_000),
        "m" => Some(60_000_000),
        "h" => Some(3_600_000_000),
        "d" => Some(86_400_000_000),
        _ => None,
    };
    let micros = unit.and_then(|unit: u64| number.parse::<u64>().ok()?.checked_mul(unit));
    micros
        .map(Duration::from_micros)
        .ok_or_else(|| format!("expected a duration such as `250ms`, `10s` or `5m`, found `{text}`"))
}

fn split_number(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

/// An amount of money, in 10⁻⁹ US dollars; written in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dollars(pub u64);

impl Dollars {
    /// # Errors
    /// One sentence if it is not from 0 to a million dollars.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    pub fn new(dollars: f64) -> Result<Self, String> {
        let fits = (0.0..=1e6).contains(&dollars);
        fits.then(|| Self((dollars * 1e9).round() as u64))
            .ok_or_else(|| format!("expected dollars from 0 to 1000000, found `{dollars}`"))
    }
}

/// A part of a hundred, from 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent(u8);

impl Percent {
    pub const ALL: Self = Self(100);

    /// # Errors
    /// One sentence if it is not from 1 to 100.
    pub fn new(number: usize) -> Result<Self, String> {
        let percent = u8::try_from(number).ok().filter(|percent| (1..=100).contains(percent));
        percent.map(Self).ok_or_else(|| format!("expected a number from 1 to 100, found `{number}`"))
    }

    pub fn get(self) -> u8 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations() {
        assert_eq!(Bytes::parse("8KiB"), Ok(Bytes::kib(8)));
        assert_eq!(Bytes::parse("1 MB"), Ok(Bytes(1_000_000)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for text in ["", "8", "s", "-1s", "8 parsecs", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(Bytes::parse("KiB").unwrap_err().contains("expected a size"));
    }
}
