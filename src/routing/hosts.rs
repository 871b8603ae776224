//! Names to whatever stands behind them: a name and every name below it, the longest wins.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A map of names, given in lower case.
#[derive(Clone, Debug)]
pub struct Hosts<T>(HashMap<Box<str>, T, RandomState>);

impl<T> Default for Hosts<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<T> Hosts<T> {
    pub fn with_capacity(names: usize) -> Self {
        Self(HashMap::with_capacity_and_hasher(names, RandomState::default()))
    }

    /// Puts `value` behind `name` and every name below it.
    pub fn insert(&mut self, name: &str, value: T) {
        self.0.insert(name.into(), value);
    }

    /// What stands behind a host: its own name's, or that of the nearest name above it.
    pub fn find(&self, host: &str) -> Option<&T> {
        let mut name = host;
        loop {
            if let Some(found) = self.0.get(name) {
                return Some(found);
            }
            name = name.split_once('.')?.1;
        }
    }

    /// What stands behind exactly this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.get(name)
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
}
