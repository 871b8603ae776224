//! Windows of time, at whole intervals of the clock.

use std::time::Duration;

use model::Technique;

/// How time is cut for a limit. A time is counted since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub interval: Duration,
    pub technique: Technique,
}

impl Window {
    fn interval_ms(self) -> u128 {
        self.interval.as_millis().max(1)
    }

    /// Number of the window at a time.
    pub(crate) fn number(self, at: Duration) -> u64 {
        u64::try_from(at.as_millis() / self.interval_ms()).unwrap_or(u64::MAX)
    }

    /// When the window of a number is over.
    pub(crate) fn end(self, number: u64) -> Duration {
        let interval_ms = u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(number.saturating_add(1).saturating_mul(interval_ms))
    }

    /// The part of the window that is over, in thousandths.
    pub(crate) fn elapsed_thousandths(self, now: Duration) -> u64 {
        u64::try_from(now.as_millis() % self.interval_ms() * 1000 / self.interval_ms()).unwrap_or(1000)
    }

    /// How long the window at `now` still lasts.
    pub(crate) fn until_next(self, now: Duration) -> Duration {
        let left_ms = self.interval_ms() - now.as_millis() % self.interval_ms();
        Duration::from_millis(u64::try_from(left_ms).unwrap_or(u64::MAX))
    }
}
