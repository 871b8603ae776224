//! Waits between attempts (notes, "Custom hostname", backoff).

/// Longest wait, in seconds.
pub const LONGEST: u64 = 14_400;
/// Attempts to verify a custom hostname before it is given up: about 7 days.
pub const HOSTNAME_ATTEMPTS: u32 = 75;
/// Attempts to show a CA that a name is ours.
pub const ISSUANCE_ATTEMPTS: u32 = 120;

/// Seconds to wait after attempt `nth`, counted from 0.
pub fn wait(nth: u32) -> u64 {
    let growth: f64 = if nth < 10 { 1.05 } else { 1.15 };
    // From here on it is the longest; more would only overflow.
    let seconds = (60.0 * growth.powi(i32::try_from(nth.min(64)).unwrap_or(64))).floor();
    (seconds as u64).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_those_that_were_published() {
        for (nth, expected) in [(0, 60), (9, 93), (10, 242), (39, 13_975), (40, 14_400), (u32::MAX, 14_400)] {
            assert_eq!(wait(nth), expected, "{nth}");
        }
        let all: u64 = (0..HOSTNAME_ATTEMPTS).map(wait).sum();
        assert!((6 * 86_400..8 * 86_400).contains(&all), "{all}");
        assert!((0..100).all(|nth| wait(nth) <= wait(nth + 1)));
    }
}
