//! What is kept of a body that passes: its beginning, its end, and how long it was.

use std::collections::VecDeque;

use bytes::Bytes;

/// A body up to this length is kept whole.
const WHOLE_BYTES: usize = 256 << 10;
/// Of a longer one, this much of its end.
const TAIL_BYTES: usize = 16 << 10;

/// Handles of the pieces: nothing is copied.
#[derive(Clone, Debug, Default)]
pub struct BodyCopy {
    head: Vec<Bytes>,
    head_bytes: usize,
    tail: VecDeque<Bytes>,
    tail_bytes: usize,
    size: u64,
}

impl BodyCopy {
    pub fn push(&mut self, chunk: &Bytes) {
        self.size += chunk.len() as u64;
        let room = WHOLE_BYTES.saturating_sub(self.head_bytes).min(chunk.len());
        if room > 0 {
            self.head_bytes += room;
            self.head.push(chunk.slice(..room));
        }
        if room < chunk.len() {
            self.tail_bytes += chunk.len() - room;
            self.tail.push_back(chunk.slice(room..));
        }
        while let Some(first) = self.tail.front().map(Bytes::len)
            && self.tail_bytes - first >= TAIL_BYTES
        {
            self.tail_bytes -= first;
            self.tail.pop_front();
        }
    }

    /// Bytes of the whole body.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The beginning, and whether that is all.
    pub fn head(&self) -> (Bytes, bool) {
        let bytes = match self.head.as_slice() {
            [] => Bytes::new(),
            [only] => only.clone(),
            chunks => chunks.concat().into(),
        };
        (bytes, self.tail.is_empty())
    }

    /// Beginning and end, with a gap if the body was longer than both.
    pub fn ends(&self) -> Bytes {
        if self.tail.is_empty() {
            return self.head().0;
        }
        let mut both = Vec::with_capacity(self.head_bytes + self.tail_bytes);
        self.head.iter().chain(&self.tail).for_each(|chunk| both.extend_from_slice(chunk));
        both.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_bodies_whole_and_long_ones_by_their_ends() {
        let mut copy = BodyCopy::default();
        for piece in [&b"ab"[..], b"", b"cd"] {
            copy.push(&Bytes::from_static(piece));
        }
        assert_eq!((copy.head(), copy.size()), ((Bytes::from_static(b"abcd"), true), 4));
        let mut long = BodyCopy::default();
        for _ in 0..1000 {
            long.push(&Bytes::from(vec![b'x'; 1000]));
        }
        long.push(&Bytes::from_static(b"the end"));
        assert_eq!((long.size(), long.head().1), (1_000_007, false));
        let ends = long.ends();
        assert!(ends.ends_with(b"the end") && ends.len() < WHOLE_BYTES + TAIL_BYTES + 2000, "{}", ends.len());
    }
}
