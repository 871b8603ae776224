//! The only clock: real time for the process, fixed time for tests.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where time comes from; engines get moments as arguments instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock(Option<SystemTime>);

impl Clock {
    pub fn real() -> Self {
        Self(None)
    }

    /// A clock whose wall time stands still.
    pub fn fixed(at: SystemTime) -> Self {
        Self(Some(at))
    }

    /// Wall time.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn now(self) -> SystemTime {
        self.0.unwrap_or_else(SystemTime::now)
    }

    /// Wall time since the Unix epoch.
    pub fn unix(self) -> Duration {
        self.now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// A moment to measure from.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn start(self) -> Stopwatch {
        Stopwatch(Instant::now())
    }
}

/// A running measurement.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// A duration as lines of the log and rows have it: in milliseconds, to the microsecond.
pub fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

/// RFC 3339 in UTC with microseconds, as every log line and API timestamp has it.
pub fn rfc3339(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at).map_or_else(|_| String::from("1970-01-01T00:00:00Z"), |t| format!("{t:.6}"))
}

/// The value of a field such as `Date` (RFC 9110 section 5.6.7).
pub fn http_date(at: SystemTime) -> String {
    let at = jiff::Timestamp::try_from(at).unwrap_or_default();
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_utc_with_microseconds() {
        let at = UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456);
        assert_eq!(rfc3339(Clock::fixed(at).now()), "2023-11-14T22:13:20.123456Z");
        assert_eq!(http_date(at), "Tue, 14 Nov 2023 22:13:20 GMT");
    }
}
