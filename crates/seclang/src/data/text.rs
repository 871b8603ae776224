//! The buffers of a transaction and handles into them.

use bytes::Bytes;

/// A piece of one of a transaction's buffers. Copying it copies nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Text {
    start: u32,
    length: u32,
    buffer: Buffer,
}

/// Which of a transaction's buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Buffer {
    #[default]
    Arena,
    Request,
    Response,
}

impl Text {
    pub const EMPTY: Self = Self { start: 0, length: 0, buffer: Buffer::Arena };

    #[inline]
    pub fn len(self) -> usize {
        self.length as usize
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.length == 0
    }
}

impl std::hash::Hash for Text {
    /// In one step, for it is asked of every value; pieces of two buffers are seldom at one place.
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.start) << 32 | u64::from(self.length));
    }
}

/// All bytes a transaction looks at: the bodies as received, everything else in one arena.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    arena: Vec<u8>,
    body: Bytes,
    response: Bytes,
    /// Reused by every transformation.
    scratch: Vec<u8>,
}

/// Room for a small request and what becomes of it.
const ARENA_ROOM_BYTES: usize = 16 << 10;

/// Most bytes the arena may hold; what no longer fits is cut, which the caller reports.
const MAX_ARENA_BYTES: usize = u32::MAX as usize;

impl Buffers {
    #[inline]
    pub(crate) fn get(&self, text: Text) -> &[u8] {
        let buffer: &[u8] = match text.buffer {
            Buffer::Arena => &self.arena,
            Buffer::Request => &self.body,
            Buffer::Response => &self.response,
        };
        let start = text.start as usize;
        buffer.get(start..start + text.len()).unwrap_or(&[])
    }

    /// Empties the buffers, but for these bytes at the arena's start: handles into them are those of
    /// the buffers that they were taken from.
    pub(crate) fn begin(&mut self, bytes: &[u8]) {
        self.arena.clear();
        self.arena.reserve(bytes.len() + ARENA_ROOM_BYTES);
        self.arena.extend_from_slice(bytes);
        self.body = Bytes::new();
        self.response = Bytes::new();
    }

    /// The memory that is kept for the next transaction.
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.arena.capacity() + self.scratch.capacity()
    }

    pub(crate) fn into_arena(self) -> Vec<u8> {
        self.arena
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) -> Text {
        let start = self.arena.len();
        let fits = bytes.get(..MAX_ARENA_BYTES.saturating_sub(start).min(bytes.len())).unwrap_or(&[]);
        self.arena.extend_from_slice(fits);
        Text { start: narrow(start), length: narrow(fits.len()), buffer: Buffer::Arena }
    }

    pub(crate) fn add_number(&mut self, number: i64) -> Text {
        use std::io::Write;
        let start = self.arena.len();
        if let Ok(digit @ 0..=9) = u8::try_from(number) {
            return self.add(&[b'0' + digit]);
        }
        // INVARIANT: writing to a vector cannot fail.
        let _ = write!(self.arena, "{number}");
        Text { start: narrow(start), length: narrow(self.arena.len() - start), buffer: Buffer::Arena }
    }

    pub(crate) fn add_count(&mut self, count: usize) -> Text {
        self.add_number(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Whether a body was taken: handles into it exist.
    pub(crate) fn has_body(&self) -> bool {
        !self.body.is_empty()
    }

    /// The same of a response body.
    pub(crate) fn has_response(&self) -> bool {
        !self.response.is_empty()
    }

    /// Takes the body; earlier handles into a body become empty.
    pub(crate) fn set_body(&mut self, body: Bytes) -> Text {
        self.body = body;
        Text { start: 0, length: narrow(self.body.len()), buffer: Buffer::Request }
    }

    /// Takes the response body; earlier handles into one become empty.
    pub(crate) fn set_response(&mut self, body: Bytes) -> Text {
        self.response = body;
        Text { start: 0, length: narrow(self.response.len()), buffer: Buffer::Response }
    }

    pub(crate) fn body(&self) -> Bytes {
        self.body.clone()
    }

    pub(crate) fn response(&self) -> Bytes {
        self.response.clone()
    }

    /// A piece of the body, given as one.
    pub(crate) fn body_part(&self, range: std::ops::Range<usize>) -> Text {
        Text { start: narrow(range.start), length: narrow(range.len()), buffer: Buffer::Request }
    }

    /// The part of `text` between two offsets.
    pub(crate) fn part(text: Text, start: usize, end: usize) -> Text {
        let (start, end) = (start.min(text.len()), end.min(text.len()));
        Text {
            start: text.start + narrow(start),
            length: narrow(end.saturating_sub(start)),
            buffer: text.buffer,
        }
    }

    /// The transformed text, or the same handle if nothing changes.
    pub(crate) fn transform(&mut self, text: Text, apply: fn(&[u8], &mut Vec<u8>) -> bool) -> Text {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let changed = apply(self.get(text), &mut scratch);
        let transformed = if changed { self.add(&scratch) } else { text };
        self.scratch = scratch;
        transformed
    }

    /// Runs `fill` on an empty buffer and keeps what it wrote.
    pub(crate) fn compose(&mut self, fill: impl FnOnce(&Self, &mut Vec<u8>)) -> Text {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        fill(self, &mut scratch);
        let text = self.add(&scratch);
        self.scratch = scratch;
        text
    }
}

fn narrow(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The number that a text is; 0 if it is none.
pub(crate) fn number(text: &[u8]) -> i64 {
    std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_survive_growth_and_name_their_buffer() {
        let mut buffers = Buffers::default();
        let a = buffers.add(b"abc");
        let body = buffers.set_body(Bytes::from_static(b"body"));
        let upper = buffers.transform(a, |input, out| {
            out.extend(input.iter().map(u8::to_ascii_uppercase));
            true
        });
        assert_eq!(
            (buffers.get(a), buffers.get(body), buffers.get(upper)),
            (&b"abc"[..], &b"body"[..], &b"ABC"[..])
        );
        assert_eq!(buffers.get(Buffers::part(upper, 1, 9)), b"BC");
        for number in [0, 7, -10, 1_234_567_890] {
            let text = buffers.add_number(number);
            assert_eq!(buffers.get(text), number.to_string().as_bytes());
        }
    }
}
