//! Names to whatever stands behind them: a name and every name below it, the longest wins.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Names from which on they are in many parts.
const MANY_NAMES: usize = 1_024;
/// How many parts that is.
const PARTS: usize = 256;
/// Names up to this length are in the table itself. Nearly all are that short, and what lies elsewhere is one more miss of
/// the cache for each request, which takes as long as the rest of the lookup.
const MAX_INLINE_BYTES: usize = 30;

/// The bytes of a name.
#[derive(Clone, Debug)]
enum NameBytes {
    Inline { len: u8, bytes: [u8; MAX_INLINE_BYTES] },
    Elsewhere(Box<[u8]>),
}

impl NameBytes {
    fn new(name: &str) -> Self {
        let mut bytes = [0; MAX_INLINE_BYTES];
        match (bytes.get_mut(..name.len()), u8::try_from(name.len())) {
            (Some(start), Ok(len)) => {
                start.copy_from_slice(name.as_bytes());
                Self::Inline { len, bytes }
            }
            _ => Self::Elsewhere(name.as_bytes().into()),
        }
    }

    fn is(&self, name: &str) -> bool {
        match self {
            Self::Inline { len, bytes } => bytes.get(..usize::from(*len)) == Some(name.as_bytes()),
            Self::Elsewhere(bytes) => **bytes == *name.as_bytes(),
        }
    }

    fn hash_by(&self, hasher: &RandomState) -> u64 {
        match self {
            Self::Inline { len, bytes } => {
                hasher.hash_one(bytes.get(..usize::from(*len)).unwrap_or_default())
            }
            Self::Elsewhere(bytes) => hasher.hash_one(&**bytes),
        }
    }
}

/// A name and what stands behind it. With up to 32 bytes behind it, it is one line of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct HostEntry<T> {
    name: NameBytes,
    value: T,
}

/// A map of names, given in lower case. A copy shares what it does not change: one of many names is changed without a look
/// at the others.
#[derive(Clone, Debug)]
pub struct Hosts<T> {
    /// One, or as many as a power of two.
    parts: Vec<Arc<HashTable<HostEntry<T>>>>,
    hasher: RandomState,
}

impl<T> Default for Hosts<T> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<T> Hosts<T> {
    /// For names that come and go one by one.
    pub fn in_parts() -> Self {
        Self::with_capacity(MANY_NAMES)
    }

    pub fn with_capacity(names: usize) -> Self {
        let parts = if names < MANY_NAMES { 1 } else { PARTS };
        let part = || Arc::new(HashTable::with_capacity(names / parts));
        Self { parts: (0..parts).map(|_| part()).collect(), hasher: RandomState::default() }
    }

    fn hash(&self, name: &str) -> u64 {
        self.hasher.hash_one(name.as_bytes())
    }

    /// The part of a hash: by bits that the tables themselves do not look at.
    fn part_of(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.parts.len() - 1)
    }

    /// What stands behind a host: its own name's, or that of the nearest name above it.
    pub fn find(&self, host: &str) -> Option<&T> {
        let mut name = host;
        loop {
            if let Some(found) = self.get(name) {
                return Some(found);
            }
            name = name.split_once('.')?.1;
        }
    }

    /// What stands behind exactly this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        let hash = self.hash(name);
        let found = self.parts.get(self.part_of(hash))?.find(hash, |entry| entry.name.is(name));
        found.map(|entry| &entry.value)
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(|part| part.iter()).map(|entry| &entry.value)
    }

    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.is_empty())
    }
}

impl<T: Clone> Hosts<T> {
    /// Puts `value` behind `name` and every name below it.
    pub fn insert(&mut self, name: &str, value: T) {
        let hash = self.hash(name);
        let part = self.part_of(hash);
        let Some(part) = self.parts.get_mut(part) else { return };
        let hasher = &self.hasher;
        let hash_again = |entry: &HostEntry<T>| entry.name.hash_by(hasher);
        match Arc::make_mut(part).entry(hash, |entry| entry.name.is(name), hash_again) {
            Entry::Occupied(mut known) => known.get_mut().value = value,
            Entry::Vacant(place) => {
                place.insert(HostEntry { name: NameBytes::new(name), value });
            }
        }
    }

    /// Takes away what stands behind exactly this name.
    pub fn remove(&mut self, name: &str) {
        let hash = self.hash(name);
        let part = self.part_of(hash);
        let Some(part) = self.parts.get_mut(part) else { return };
        if let Ok(known) = Arc::make_mut(part).find_entry(hash, |entry| entry.name.is(name)) {
            known.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_of_the_cache() {
        assert_eq!((size_of::<HostEntry<[u64; 4]>>(), align_of::<HostEntry<[u64; 4]>>()), (64, 64));
    }

    #[test]
    fn the_longest_name_wins() {
        let mut hosts = Hosts::default();
        hosts.insert("example.com", 1);
        hosts.insert("shop.example.com", 2);
        for (host, expected) in [
            ("example.com", Some(1)),
            ("www.example.com", Some(1)),
            ("shop.example.com", Some(2)),
            ("a.b.shop.example.com", Some(2)),
            ("badexample.com", None),
            ("com", None),
            ("", None),
        ] {
            assert_eq!(hosts.find(host).copied(), expected, "{host}");
        }
    }

    #[test]
    fn names_of_every_length_are_found() {
        let name = |bytes: usize| "a".repeat(bytes);
        let mut hosts = Hosts::default();
        (1..=253).for_each(|bytes| hosts.insert(&name(bytes), bytes));
        for bytes in 1..=253 {
            assert_eq!(hosts.get(&name(bytes)), Some(&bytes));
            assert_eq!(hosts.find(&format!("b.{}", name(bytes))), Some(&bytes));
        }
        for bytes in [MAX_INLINE_BYTES, MAX_INLINE_BYTES + 1] {
            hosts.insert(&name(bytes), 0);
            assert_eq!(hosts.get(&name(bytes)), Some(&0));
        }
        hosts.remove(&name(MAX_INLINE_BYTES));
        assert_eq!((hosts.get(&name(30)), hosts.get(&name(31)), hosts.len()), (None, Some(&0), 252));
    }

    #[test]
    fn a_copy_changes_nothing_of_what_it_was_made_of() {
        for capacity in [0, 5_000] {
            let mut hosts = Hosts::with_capacity(capacity);
            (0..5_000).for_each(|nth| hosts.insert(&format!("h{nth}.example"), nth));
            let mut copy = hosts.clone();
            copy.remove("h7.example");
            copy.insert("h8.example", 0);
            copy.insert("new.example", 1);
            assert_eq!((hosts.len(), copy.len()), (5_000, 5_000));
            assert_eq!((hosts.get("h7.example"), hosts.get("h8.example")), (Some(&7), Some(&8)));
            assert_eq!((copy.get("h7.example"), copy.get("h8.example")), (None, Some(&0)));
            assert_eq!(copy.values().sum::<i32>(), hosts.values().sum::<i32>() - 7 - 8 + 1);
        }
    }
}
