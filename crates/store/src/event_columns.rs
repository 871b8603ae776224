//! Security events by column: which value stands at which id, so that a search reads only the events that it returns.
//!
//! Each chunk of ids that is complete has a row for each column. A column of texts is its dictionary and a code for each id: the
//! number of values (`u16`), the hash of each (`u64`), and its number in the dictionary, of one byte if there are up to 256
//! of them and of two else. A column of times is microseconds from the epoch (`i64`). All of it is little endian.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};

use super::StoreError;

/// Ids of a chunk. INVARIANT: files have chunks of this size, and a number in a dictionary is a `u16`.
pub(super) const CHUNK: usize = 8_192;
/// Rows of a chunk, at most. INVARIANT: as [`CHUNK`].
const STRIDE: i64 = 16;
/// What stands where there is no event. Texts have other hashes.
const NONE: u64 = 0;

/// The columns of texts in the order of their numbers, from 1 on, as SQL names them. INVARIANT: columns are only added.
const TEXTS: [&str; 10] =
    ["account", "zone_id", "zone", "host", "source", "action", "rule", "reference", "client", "path"];
/// The number of the column of times.
const AT: i64 = 0;

/// A value of a column. SHA-256, because clients choose values, and one that had the hash of another would be found as that.
pub(super) fn hash(value: &[u8]) -> u64 {
    let digest = Sha256::digest(value);
    digest.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes)).max(1)
}

/// Microseconds from the epoch to a time (RFC 3339), or `None` if it is none.
pub(super) fn microseconds(at: &str) -> Option<i64> {
    at.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_microsecond)
}

/// The first id of a chunk.
pub(super) fn first_id(chunk: i64) -> i64 {
    chunk * CHUNK as i64
}

/// Which chunks have columns.
pub(super) struct EventChunks {
    pub(super) complete: std::ops::Range<i64>,
    /// The oldest event. EventChunks have ids before it too, of events that went.
    pub(super) oldest_id: i64,
    newest_id: Option<i64>,
}

impl EventChunks {
    pub(super) fn of(connection: &Connection) -> Result<Self, StoreError> {
        let mut ends = connection.prepare_cached(
            "SELECT (SELECT min(id) FROM event_columns), (SELECT max(id) FROM event_columns),
                 (SELECT min(id) FROM events), (SELECT max(id) FROM events)",
        )?;
        let chunk = |id: Option<i64>| id.map(|id| id / STRIDE);
        Ok(ends.query_row([], |row| {
            let oldest_id = row.get::<_, Option<i64>>(2)?.unwrap_or(0);
            let start = chunk(row.get(0)?).unwrap_or(oldest_id / CHUNK as i64);
            let end = chunk(row.get(1)?).map_or(start, |last| last + 1);
            Ok(Self { complete: start..end, oldest_id, newest_id: row.get(3)? })
        })?)
    }
}

/// Writes the columns of chunks that are complete and have none.
pub(super) fn extend(connection: &Connection) -> Result<(), StoreError> {
    let chunks = EventChunks::of(connection)?;
    let complete = chunks.newest_id.map_or(0, |newest| (newest + 1) / CHUNK as i64);
    (chunks.complete.end..complete).try_for_each(|chunk| write(connection, chunk))
}

/// Updates the columns after events were deleted. `last_gone` is the greatest id of these.
pub(super) fn shrink(connection: &Connection, last_gone: i64) -> Result<(), StoreError> {
    let EventChunks { complete, oldest_id, newest_id } = EventChunks::of(connection)?;
    let kept = newest_id.map_or(complete.end, |_| oldest_id / CHUNK as i64);
    connection.prepare_cached("DELETE FROM event_columns WHERE id < ?1")?.execute([kept * STRIDE])?;
    // Events of a clock that ran ahead stay longer than later ones.
    if oldest_id <= last_gone {
        let behind = complete.end.min(last_gone / CHUNK as i64 + 1);
        (kept.max(complete.start)..behind).try_for_each(|chunk| write(connection, chunk))?;
    }
    Ok(())
}

fn write(connection: &Connection, chunk: i64) -> Result<(), StoreError> {
    let first = first_id(chunk);
    let mut times = vec![0_i64; CHUNK];
    let mut columns: [TextColumn; TEXTS.len()] = std::array::from_fn(|_| TextColumn::default());
    let mut events = connection.prepare_cached(&format!(
        "SELECT id, at, {} FROM events WHERE id >= ?1 AND id < ?2",
        TEXTS.join(", ")
    ))?;
    let mut rows = events.query([first, first_id(chunk + 1)])?;
    while let Some(row) = rows.next()? {
        let nth = usize::try_from(row.get::<_, i64>(0)? - first).unwrap_or(CHUNK);
        if let Some(time) = times.get_mut(nth) {
            *time = text(row, 1)?.and_then(microseconds).unwrap_or(0);
        }
        for (column, place) in columns.iter_mut().zip(2..) {
            column.set(nth, text(row, place)?.unwrap_or_default());
        }
    }
    let mut put = connection.prepare_cached("INSERT OR REPLACE INTO event_columns VALUES (?1, ?2)")?;
    let times: Vec<u8> = times.into_iter().flat_map(i64::to_le_bytes).collect();
    put.execute(params![chunk * STRIDE + AT, times])?;
    for (column, number) in columns.iter().zip(1..) {
        put.execute(params![chunk * STRIDE + number, column.bytes()])?;
    }
    Ok(())
}

fn text<'r>(row: &'r Row<'_>, place: usize) -> Result<Option<&'r str>, StoreError> {
    Ok(row.get_ref(place)?.as_str_or_null().unwrap_or_default())
}

/// A column of a chunk on its way to the file.
struct TextColumn {
    codes: Vec<u16>,
    hashes: Vec<u64>,
    by_hash: HashMap<u64, u16>,
}

impl Default for TextColumn {
    fn default() -> Self {
        Self { codes: vec![0; CHUNK], hashes: vec![NONE], by_hash: HashMap::new() }
    }
}

impl TextColumn {
    fn set(&mut self, nth: usize, value: &str) {
        let Some(code) = self.codes.get_mut(nth) else { return };
        let hash = hash(value.as_bytes());
        *code = *self.by_hash.entry(hash).or_insert_with(|| {
            self.hashes.push(hash);
            // INVARIANT: a chunk has fewer values than `u16` has numbers.
            (self.hashes.len() - 1) as u16
        });
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 + self.hashes.len() * 8 + self.codes.len() * 2);
        bytes.extend((self.hashes.len() as u16).to_le_bytes());
        self.hashes.iter().for_each(|hash| bytes.extend(hash.to_le_bytes()));
        if self.hashes.len() <= 256 {
            bytes.extend(self.codes.iter().map(|code| *code as u8));
        } else {
            self.codes.iter().for_each(|code| bytes.extend(code.to_le_bytes()));
        }
        bytes
    }
}

/// Some ids of a chunk.
pub(super) struct ChunkIds {
    chunk: i64,
    is_in: Vec<bool>,
}

impl ChunkIds {
    pub(super) fn all(chunk: i64) -> Self {
        Self { chunk, is_in: vec![true; CHUNK] }
    }

    /// Keeps those where a column of texts has one of the values of these hashes; false if none is left.
    pub(super) fn keep(
        &mut self,
        connection: &Connection,
        column: &str,
        hashes: &[u64],
    ) -> Result<bool, StoreError> {
        let nth = TEXTS.iter().position(|name| *name == column);
        // What has no column has no value.
        let Some(number) = nth.and_then(|nth| i64::try_from(nth + 1).ok()) else { return Ok(false) };
        let blob = self.blob(connection, number)?;
        let damaged = || StoreError::Failed(format!("chunk {} of its columns is damaged", self.chunk));
        let (count, rest) = blob.split_first_chunk().ok_or_else(damaged)?;
        let (dictionary, codes) =
            rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * 8).ok_or_else(damaged)?;
        let wanted: Vec<bool> = (dictionary.as_chunks().0.iter())
            .map(|bytes| hashes.contains(&u64::from_le_bytes(*bytes)))
            .collect();
        if !wanted.contains(&true) {
            return Ok(false);
        }
        let is_wanted = |code: usize| wanted.get(code).copied().unwrap_or(false);
        let mut left = false;
        let mut keep = |is_in: &mut bool, code: usize| {
            *is_in &= is_wanted(code);
            left |= *is_in;
        };
        if codes.len() == CHUNK {
            self.is_in.iter_mut().zip(codes).for_each(|(is_in, code)| keep(is_in, usize::from(*code)));
        } else if codes.len() == 2 * CHUNK {
            let codes = codes.as_chunks().0.iter().map(|code| usize::from(u16::from_le_bytes(*code)));
            self.is_in.iter_mut().zip(codes).for_each(|(is_in, code)| keep(is_in, code));
        } else {
            return Err(damaged());
        }
        Ok(left)
    }

    /// Those that are left, each with its time in microseconds from the epoch.
    pub(super) fn times(
        &self,
        connection: &Connection,
    ) -> Result<impl Iterator<Item = (i64, i64)>, StoreError> {
        let blob = self.blob(connection, AT)?;
        let times: Vec<i64> = blob.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
        let ids = first_id(self.chunk)..;
        Ok(times.into_iter().zip(ids).zip(&self.is_in).filter(|(_, is_in)| **is_in).map(|(found, _)| found))
    }

    fn blob(&self, connection: &Connection, number: i64) -> Result<Vec<u8>, StoreError> {
        let mut read = connection.prepare_cached("SELECT texts FROM event_columns WHERE id = ?1")?;
        let blob = read.query_row([self.chunk * STRIDE + number], |row| row.get(0)).optional()?;
        blob.ok_or_else(|| StoreError::Failed(format!("chunk {} has no column {number}", self.chunk)))
    }
}
