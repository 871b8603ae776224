//! Persistent collections: what rules remember of a client, a session or all requests, in memory.
//!
//! Bounded: past [`MAX_RECORDS`] those that end first make room. Moments are given, as time since the
//! Unix epoch.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::data::number;
use crate::ir::{Change, CollectionKind};

/// Most records of all collections together.
pub const MAX_RECORDS: usize = 65_536;
/// Most entries of one record; more are not kept.
pub const MAX_ENTRIES: usize = 256;

/// The records of every collection, shared by all requests, and by a program and the one that takes
/// its place.
#[derive(Debug, Default)]
pub struct Collections {
    records: Mutex<HashMap<(CollectionKind, Vec<u8>), Record>>,
}

/// Now, and when a record that is changed now ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lifetime {
    pub(crate) now: Duration,
    pub(crate) ends: Duration,
}

#[derive(Debug, Default)]
struct Record {
    entries: Vec<Entry>,
    ends: Duration,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Vec<u8>,
    value: Vec<u8>,
    expires: Option<Duration>,
}

/// What is done to an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Update<'v> {
    Change(Change, &'v [u8]),
    /// It ends at this moment.
    Expire(Duration),
}

impl Collections {
    pub(crate) fn clear(&self) {
        self.records.lock().clear();
    }

    /// Calls with each live entry of a record.
    pub(crate) fn read(
        &self,
        kind: CollectionKind,
        key: &[u8],
        now: Duration,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) {
        let records = self.records.lock();
        let record = records.get(&(kind, key.to_vec())).filter(|record| record.is_live(now));
        for entry in record.into_iter().flat_map(|record| &record.entries).filter(|entry| entry.is_live(now))
        {
            visit(&entry.name, &entry.value);
        }
    }

    /// Changes one entry and returns its value, if it still has one.
    pub(crate) fn update(
        &self,
        kind: CollectionKind,
        key: &[u8],
        name: &[u8],
        update: Update<'_>,
        Lifetime { now, ends }: Lifetime,
    ) -> Option<Vec<u8>> {
        let mut records = self.records.lock();
        let full_key = (kind, key.to_vec());
        if records.len() >= MAX_RECORDS && !records.contains_key(&full_key) {
            make_room(&mut records, now);
        }
        let record = records.entry(full_key).or_default();
        if !record.is_live(now) {
            record.entries.clear();
        }
        record.ends = ends;
        record.entries.retain(|entry| entry.is_live(now));
        record.update(name, update)
    }
}

/// Drops what has ended, and a sixteenth if that is too little: a flood of new keys pays for a
/// search of all records once in thousands of requests.
fn make_room(records: &mut HashMap<(CollectionKind, Vec<u8>), Record>, now: Duration) {
    let room = MAX_RECORDS / 16;
    records.retain(|_, record| record.is_live(now));
    if records.len() <= MAX_RECORDS - room {
        return;
    }
    let mut ends: Vec<Duration> = records.values().map(|record| record.ends).collect();
    let (_, last, _) = ends.select_nth_unstable(room - 1);
    let (last, mut left) = (*last, room);
    records.retain(|_, record| {
        let goes = left > 0 && record.ends <= last;
        left -= usize::from(goes);
        !goes
    });
}

impl Record {
    fn is_live(&self, now: Duration) -> bool {
        now <= self.ends
    }

    fn update(&mut self, name: &[u8], update: Update<'_>) -> Option<Vec<u8>> {
        let at = self.entries.iter().position(|entry| entry.name.eq_ignore_ascii_case(name));
        let (change, operand) = match update {
            Update::Change(change, operand) => (change, operand),
            Update::Expire(expires) => {
                let entry = self.entries.get_mut(at?)?;
                entry.expires = Some(expires);
                return Some(entry.value.clone());
            }
        };
        let before = at.and_then(|at| self.entries.get(at)).map_or(0, |entry| number(&entry.value));
        let value = match change {
            Change::Set => operand.to_vec(),
            Change::Add => before.saturating_add(number(operand)).to_string().into_bytes(),
            Change::Subtract => before.saturating_sub(number(operand)).to_string().into_bytes(),
            Change::Unset => {
                if let Some(at) = at {
                    self.entries.swap_remove(at);
                }
                return None;
            }
        };
        if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) {
            entry.value.clone_from(&value);
        } else if self.entries.len() < MAX_ENTRIES {
            self.entries.push(Entry { name: name.to_vec(), value: value.clone(), expires: None });
        } else {
            return None;
        }
        Some(value)
    }
}

impl Entry {
    fn is_live(&self, now: Duration) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1000);
    const HOUR: Duration = Duration::from_secs(3600);

    fn read(collections: &Collections, now: Duration) -> String {
        let mut seen = String::new();
        collections.read(CollectionKind::Ip, b"a", now, |name, value| {
            seen.push_str(&format!("{}={};", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
        });
        seen
    }

    #[test]
    fn entries_add_up_expire_and_are_forgotten() {
        let collections = Collections::default();
        let update = |name: &[u8], update, now: Duration| {
            let lifetime = Lifetime { now, ends: now + HOUR };
            collections.update(CollectionKind::Ip, b"a", name, update, lifetime)
        };
        assert_eq!(update(b"n", Update::Change(Change::Add, b"2"), NOW).unwrap(), b"2");
        assert_eq!(update(b"N", Update::Change(Change::Add, b"3"), NOW).unwrap(), b"5");
        update(b"m", Update::Change(Change::Set, b"x"), NOW);
        update(b"m", Update::Expire(NOW + Duration::from_secs(5)), NOW);
        assert_eq!(read(&collections, NOW), "n=5;m=x;");
        assert_eq!(read(&collections, NOW + Duration::from_secs(5)), "n=5;");
        assert_eq!(read(&collections, NOW + HOUR + Duration::from_secs(1)), "");
        assert_eq!(update(b"n", Update::Change(Change::Unset, b""), NOW), None);
        assert_eq!(read(&collections, NOW), "m=x;");
    }

    #[test]
    fn records_are_bounded_and_those_that_end_first_make_room() {
        let collections = Collections::default();
        for n in 0..=MAX_RECORDS {
            let key = n.to_string();
            let ends = NOW + Duration::from_micros(n as u64);
            collections.update(
                CollectionKind::Global,
                key.as_bytes(),
                b"x",
                Update::Change(Change::Set, b"1"),
                Lifetime { now: NOW, ends },
            );
        }
        let records = collections.records.lock();
        let has = |n: usize| records.contains_key(&(CollectionKind::Global, n.to_string().into_bytes()));
        assert_eq!(records.len(), MAX_RECORDS - MAX_RECORDS / 16 + 1);
        assert!(!has(0) && !has(MAX_RECORDS / 16 - 1) && has(MAX_RECORDS / 16) && has(MAX_RECORDS));
    }
}
