//! Names to whatever stands behind them: a name and every name below it, the longest wins.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

/// Names from which on they are in many parts.
const MANY_NAMES: usize = 1_024;
/// How many parts that is.
const PARTS: usize = 256;

/// The bytes of a name. Nearly all names fit in the table itself: what lies elsewhere is one more miss of the cache for each
/// request, which takes as long as the rest of the lookup.
type NameBytes = SmallVec<[u8; 40]>;

/// A map of names, given in lower case. A copy shares what it does not change: one of many names is changed without a look
/// at the others.
#[derive(Clone, Debug)]
pub struct Hosts<T> {
    /// One, or as many as a power of two.
    parts: Vec<Arc<HashMap<NameBytes, T, RandomState>>>,
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
        let hasher = RandomState::default();
        let part = || Arc::new(HashMap::with_capacity_and_hasher(names / parts, hasher.clone()));
        Self { parts: (0..parts).map(|_| part()).collect(), hasher: hasher.clone() }
    }

    fn part_of(&self, name: &str) -> usize {
        match self.parts.len() {
            1 => 0,
            parts => (self.hasher.hash_one(name) >> 32) as usize & (parts - 1),
        }
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
        self.parts.get(self.part_of(name))?.get(name.as_bytes())
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(|part| part.values())
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
        let part = self.part_of(name);
        if let Some(part) = self.parts.get_mut(part) {
            Arc::make_mut(part).insert(NameBytes::from_slice(name.as_bytes()), value);
        }
    }

    /// Takes away what stands behind exactly this name.
    pub fn remove(&mut self, name: &str) {
        let part = self.part_of(name);
        if let Some(part) = self.parts.get_mut(part) {
            Arc::make_mut(part).remove(name.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        hosts.remove(&name(41));
        assert_eq!((hosts.get(&name(40)), hosts.get(&name(41)), hosts.len()), (Some(&40), None, 252));
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
