//! Frames (RFC 9114 section 7), read as their bytes come.

use bytes::{Buf, Bytes};
use smallvec::SmallVec;

use crate::varint;

/// Types of frames (RFC 9114 section 7.2).
pub(crate) const DATA: u64 = 0x00;
pub(crate) const HEADERS: u64 = 0x01;
pub(crate) const CANCEL_PUSH: u64 = 0x03;
pub(crate) const SETTINGS: u64 = 0x04;
pub(crate) const PUSH_PROMISE: u64 = 0x05;
pub(crate) const GOAWAY: u64 = 0x07;
pub(crate) const MAX_PUSH_ID: u64 = 0x0d;

/// Types of HTTP/2 that have no meaning here and are refused (RFC 9114 section 7.2.8).
pub(crate) fn is_of_http2(kind: u64) -> bool {
    matches!(kind, 0x02 | 0x06 | 0x08 | 0x09)
}

/// The longest head of a frame: two integers.
const MAX_HEAD_BYTES: usize = 16;

/// What a frame begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub kind: u64,
    /// Of its payload, in bytes.
    pub length: u64,
}

/// What is found of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FramePart {
    Head(FrameHead),
    /// A piece of the payload of the last head, never empty.
    Payload(Bytes),
}

/// Finds frames in bytes as they come, and holds nothing of their payloads.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    head: SmallVec<[u8; MAX_HEAD_BYTES]>,
    left: u64,
}

impl FrameReader {
    /// The next part, taken off `bytes`; `None` if more are needed.
    pub fn next(&mut self, bytes: &mut Bytes) -> Option<FramePart> {
        if self.left > 0 {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            self.left -= most as u64;
            return (most > 0).then(|| FramePart::Payload(bytes.split_to(most)));
        }
        while bytes.has_remaining() {
            self.head.push(bytes.get_u8());
            let Some((kind, used)) = varint::decode(&self.head) else { continue };
            let Some((length, _)) = varint::decode(self.head.get(used..).unwrap_or(&[])) else { continue };
            self.head.clear();
            self.left = length;
            return Some(FramePart::Head(FrameHead { kind, length }));
        }
        None
    }

    /// Bytes of the current payload that are still to come.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Whether the bytes so far end within a frame.
    pub fn is_within_frame(&self) -> bool {
        self.left > 0 || !self.head.is_empty()
    }
}

/// Writes the head of a frame.
pub(crate) fn write_head(kind: u64, length: usize, to: &mut Vec<u8>) {
    varint::encode(kind, to);
    varint::encode(length as u64, to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_their_bytes_are_cut() {
        let mut written = Vec::new();
        for (kind, payload) in [(0, "body"), (0x21, ""), (1, "head"), (0x4000_0000_1234, "x")] {
            write_head(kind, payload.len(), &mut written);
            written.extend(payload.as_bytes());
        }
        for size in 1..=written.len() {
            let mut reader = FrameReader::default();
            let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
            for chunk in written.chunks(size) {
                let mut chunk = Bytes::copy_from_slice(chunk);
                while let Some(part) = reader.next(&mut chunk) {
                    match part {
                        FramePart::Head(head) => found.push((head.kind, Vec::new())),
                        FramePart::Payload(piece) => found.last_mut().unwrap().1.extend(piece),
                    }
                }
                assert!(chunk.is_empty());
            }
            assert!(!reader.is_within_frame());
            let expected: Vec<(u64, Vec<u8>)> = vec![
                (0, b"body".to_vec()),
                (0x21, Vec::new()),
                (1, b"head".to_vec()),
                (0x4000_0000_1234, b"x".to_vec()),
            ];
            assert_eq!(found, expected, "chunks of {size}");
        }
    }

    #[test]
    fn a_length_is_believed_of_nothing() {
        let mut reader = FrameReader::default();
        let mut bytes = Bytes::from_static(b"\x01\xff\xff\xff\xff\xff\xff\xff\xffabc");
        let head = FrameHead { kind: HEADERS, length: (1 << 62) - 1 };
        assert_eq!(reader.next(&mut bytes), Some(FramePart::Head(head)));
        assert_eq!(reader.next(&mut bytes), Some(FramePart::Payload(Bytes::from_static(b"abc"))));
        assert_eq!(reader.next(&mut bytes), None);
        assert!(reader.is_within_frame());
    }
}
