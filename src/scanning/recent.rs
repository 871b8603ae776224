//! What is remembered by a digest, in bounded memory: what was asked for longest ago goes first.

use std::collections::HashMap;

use parking_lot::Mutex;

use detection::mac::Digest;

/// Entries that are kept; past it half of them, the older ones, are forgotten.
const MAX_ENTRIES: usize = 8_192;

/// Something kept for each of the last digests.
pub struct Recent<T> {
    entries: Mutex<Entries<T>>,
}

struct Entries<T> {
    /// With when it was last asked for.
    by_digest: HashMap<Digest, (u64, T), foldhash::fast::RandomState>,
    asked: u64,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { entries: Mutex::new(Entries { by_digest: HashMap::default(), asked: 0 }) }
    }
}

impl<T> Recent<T> {
    /// The entry of a digest.
    pub fn get(&self, digest: &Digest) -> Option<T>
    where
        T: Clone,
    {
        let mut entries = self.entries.lock();
        entries.asked += 1;
        let asked = entries.asked;
        let (last, entry) = entries.by_digest.get_mut(digest)?;
        *last = asked;
        Some(entry.clone())
    }

    /// Changes an entry, which is made if there is none.
    pub fn update<R>(&self, digest: Digest, new: impl FnOnce() -> T, change: impl FnOnce(&mut T) -> R) -> R {
        let mut entries = self.entries.lock();
        entries.asked += 1;
        let asked = entries.asked;
        let (last, entry) = entries.by_digest.entry(digest).or_insert_with(|| (asked, new()));
        *last = asked;
        let result = change(entry);
        if entries.by_digest.len() > MAX_ENTRIES {
            let mut ages: Vec<u64> = entries.by_digest.values().map(|(last, _)| *last).collect();
            let (_, middle, _) = ages.select_nth_unstable(MAX_ENTRIES / 2);
            let middle = *middle;
            entries.by_digest.retain(|_, (last, _)| *last > middle);
        }
        result
    }
}

impl<T> std::fmt::Debug for Recent<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recent({} entries)", self.entries.lock().by_digest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_the_old_go_first() {
        let recent = Recent::<usize>::default();
        let digest = |n: usize| {
            let mut digest = Digest::default();
            digest[..8].copy_from_slice(&n.to_le_bytes());
            digest
        };
        for n in 0..3 * MAX_ENTRIES {
            recent.update(digest(n), || n, |_| ());
        }
        assert!(recent.entries.lock().by_digest.len() <= MAX_ENTRIES);
        assert_eq!(
            (recent.get(&digest(0)), recent.get(&digest(3 * MAX_ENTRIES - 2))),
            (None, Some(3 * MAX_ENTRIES - 2))
        );
        let kept = recent.update(digest(3 * MAX_ENTRIES - 1), || 0, |n| std::mem::replace(n, 5));
        assert_eq!(kept, 3 * MAX_ENTRIES - 1);
    }
}
