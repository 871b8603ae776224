//! A map by names in wire form, of which a copy shares what it does not change.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;

/// Entries that a part has before the map is cut into more.
const PART_ENTRIES: usize = 1_024;
/// By how much more.
const GROWTH: usize = 8;
/// Most parts.
const MAX_PARTS: usize = 1 << 13;

type Part<T> = Arc<HashMap<Box<[u8]>, T, RandomState>>;

/// Keys are given in lower case, whole or without a suffix that they share.
#[derive(Clone, Debug)]
pub struct WireMap<T> {
    /// One, or as many as a power of two.
    parts: Arc<[Part<T>]>,
    hasher: RandomState,
    len: usize,
}

impl<T> Default for WireMap<T> {
    fn default() -> Self {
        let hasher = RandomState::default();
        Self { parts: empty_parts(1, &hasher), hasher, len: 0 }
    }
}

fn empty_parts<T>(count: usize, hasher: &RandomState) -> Arc<[Part<T>]> {
    (0..count).map(|_| Arc::new(HashMap::with_hasher(hasher.clone()))).collect()
}

impl<T> WireMap<T> {
    pub fn get(&self, key: &[u8]) -> Option<&T> {
        self.parts.get(self.part_of(key))?.get(key)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(|part| part.values())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &T)> {
        self.parts.iter().flat_map(|part| part.iter().map(|(key, value)| (&**key, value)))
    }

    fn part_of(&self, key: &[u8]) -> usize {
        match self.parts.len() {
            1 => 0,
            parts => (self.hasher.hash_one(key) >> 40) as usize & (parts - 1),
        }
    }
}

impl<T: Clone> WireMap<T> {
    pub fn insert(&mut self, key: &[u8], value: T) {
        if self.len > self.parts.len() * PART_ENTRIES && self.parts.len() < MAX_PARTS {
            self.grow();
        }
        let nth = self.part_of(key);
        if let Some(part) = Arc::make_mut(&mut self.parts).get_mut(nth) {
            let before = Arc::make_mut(part).insert(key.into(), value);
            self.len += usize::from(before.is_none());
        }
    }

    pub fn remove(&mut self, key: &[u8]) -> Option<T> {
        if !self.parts.get(self.part_of(key))?.contains_key(key) {
            return None;
        }
        let nth = self.part_of(key);
        let removed = Arc::make_mut(Arc::make_mut(&mut self.parts).get_mut(nth)?).remove(key);
        self.len -= usize::from(removed.is_some());
        removed
    }

    fn grow(&mut self) {
        let parts = std::mem::replace(&mut self.parts, empty_parts(0, &self.hasher));
        self.parts = empty_parts((parts.len() * GROWTH).min(MAX_PARTS), &self.hasher);
        for part in parts.iter() {
            #[expect(clippy::iter_over_hash_type, reason = "the order of insertion leaves no trace")]
            for (key, value) in part.iter() {
                let nth = self.part_of(key);
                if let Some(part) = Arc::make_mut(&mut self.parts).get_mut(nth) {
                    Arc::make_mut(part).insert(key.clone(), value.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_keeps_what_it_was_however_the_map_grows() {
        let mut map = WireMap::default();
        for nth in 0..20_000_u32 {
            map.insert(&nth.to_be_bytes(), nth);
        }
        let copy = map.clone();
        for nth in 0..10_000_u32 {
            assert_eq!(map.remove(&nth.to_be_bytes()), Some(nth));
        }
        map.insert(&5_u32.to_be_bytes(), 7);
        assert_eq!((copy.len(), map.len(), map.values().count()), (20_000, 10_001, 10_001));
        assert_eq!((copy.get(&5_u32.to_be_bytes()), map.get(&5_u32.to_be_bytes())), (Some(&5), Some(&7)));
        assert_eq!(map.remove(b"none"), None);
        assert_eq!(map.get(&6_u32.to_be_bytes()), None);
    }
}
