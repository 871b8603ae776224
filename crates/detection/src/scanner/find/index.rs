//! Entries by the few bytes that they begin with: one look at a small table if there are none.

/// Entries by a key of up to four bytes.
#[derive(Debug)]
pub struct Index<T> {
    /// For each hash, where its entries begin; one more, for the end.
    slots: Vec<u16>,
    /// How far the product of a key is shifted for its hash: there are four slots and more for an entry, and
    /// no more than that, for the table is to stay in the first cache.
    shift: u32,
    /// Sorted by hash.
    entries: Vec<(u32, T)>,
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self { slots: vec![0; 3], shift: u32::BITS - 1, entries: Vec::new() }
    }
}

impl<T> Index<T> {
    pub fn new(mut entries: Vec<(u32, T)>) -> Self {
        // More than a slot can count would be rules by the ten thousand.
        entries.truncate(usize::from(u16::MAX));
        let bits = (4 * entries.len()).next_power_of_two().ilog2().max(1);
        let shift = u32::BITS - bits;
        entries.sort_by_key(|(key, _)| slot(*key, shift));
        let before = |hash: usize| entries.partition_point(|(key, _)| slot(*key, shift) < hash);
        let slots = (0..=1 << bits).map(|hash| u16::try_from(before(hash)).unwrap_or(u16::MAX)).collect();
        Self { slots, shift, entries }
    }

    /// The entries of a key.
    #[inline]
    pub fn get(&self, key: u32) -> impl Iterator<Item = &T> {
        let slot = slot(key, self.shift);
        let bounds = (self.slots.get(slot), self.slots.get(slot + 1));
        let entries = match bounds {
            (Some(start), Some(end)) => self.entries.get(usize::from(*start)..usize::from(*end)),
            _ => None,
        };
        entries.unwrap_or(&[]).iter().filter(move |(other, _)| *other == key).map(|(_, entry)| entry)
    }
}

/// The upper bits of a product that mixes the key (multiplicative hashing).
#[inline]
pub fn slot(key: u32, shift: u32) -> usize {
    (key.wrapping_mul(MIX) >> shift) as usize
}

/// 2^32 divided by the golden ratio.
pub const MIX: u32 = 0x9E37_79B1;

/// Three bytes as a key.
#[inline]
pub fn key_of_3([a, b, c]: [u8; 3]) -> u32 {
    u32::from_le_bytes([a, b, c, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_by_its_key_alone() {
        let index = Index::new((0..3_000_u32).flat_map(|key| [(key * 7, key), (key * 7, key + 1)]).collect());
        for key in 0..3_000 {
            assert_eq!(index.get(key * 7).copied().collect::<Vec<_>>(), [key, key + 1]);
            assert_eq!(index.get(key * 7 + 1).count(), 0);
        }
        assert_eq!(Index::<u32>::default().get(5).count(), 0);
    }
}
