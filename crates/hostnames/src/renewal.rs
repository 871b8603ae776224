//! When a certificate is to be renewed.

/// What of the life of a certificate is left when it is renewed: a third.
const LEFT: u64 = 3;

/// From when on a certificate is renewed, in seconds since the epoch: where a third of its life is left.
pub fn due(not_before: u64, expires: u64) -> u64 {
    expires.saturating_sub(expires.saturating_sub(not_before) / LEFT)
}

/// A moment within a window that a CA suggests (RFC 9773 section 4.2). `chance` is from 0 to 65,535.
pub fn within(start: u64, end: u64, chance: u16) -> u64 {
    let span = end.saturating_sub(start);
    start + span / 65_536 * u64::from(chance) + span % 65_536 * u64::from(chance) / 65_536
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_life_is_left() {
        let day = 86_400;
        assert_eq!(due(0, 90 * day), 60 * day);
        assert_eq!(due(1_000, 1_000 + 6 * day), 1_000 + 4 * day);
        assert_eq!(due(10, 5), 5, "one that ends before it begins is due at once");
        assert_eq!((within(100, 200, 0), within(100, 100, 65_535)), (100, 100));
        assert!((100..200).contains(&within(100, 200, 65_535)));
        assert!(within(0, u64::MAX, u16::MAX) < u64::MAX);
    }
}
