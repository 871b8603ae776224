//! Frames of `application/vnd.amazon.eventstream`: lengths, headers, a payload of JSON.
//!
//! ```text
//! total u32 | headers u32 | checksum u32 | headers | payload | checksum u32      (big endian)
//! ```

/// A longer frame is no event of a model.
const MAX_FRAME_BYTES: usize = 1 << 20;
const PRELUDE_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;

/// Splits frames off as their bytes come.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pending: Vec<u8>,
    is_broken: bool,
}

impl Frames {
    /// Hands on each payload that is complete.
    pub(super) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        if self.is_broken {
            return;
        }
        self.pending.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(frame) = self.pending.get(from..).filter(|rest| rest.len() >= PRELUDE_BYTES) {
            let (Some(total), Some(headers)) = (number(frame, 0), number(frame, 4)) else { break };
            let payload_from = PRELUDE_BYTES.saturating_add(headers);
            let is_frame = total <= MAX_FRAME_BYTES && payload_from + CHECKSUM_BYTES <= total;
            if !is_frame {
                self.is_broken = true;
                self.pending = Vec::new();
                return;
            }
            let Some(payload) = frame.get(..total).and_then(|f| f.get(payload_from..total - CHECKSUM_BYTES))
            else {
                break;
            };
            take(payload);
            from += total;
        }
        self.pending.drain(..from);
    }
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(payload: &[u8]) -> Vec<u8> {
        let headers = b"\x0b:event-type\x07\x00\x05chunk";
        let total = PRELUDE_BYTES + headers.len() + payload.len() + CHECKSUM_BYTES;
        let mut frame = Vec::new();
        frame.extend_from_slice(&u32::try_from(total).unwrap().to_be_bytes());
        frame.extend_from_slice(&u32::try_from(headers.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(headers);
        frame.extend_from_slice(payload);
        frame.extend_from_slice(&[0; 4]);
        frame
    }

    #[test]
    fn frames_split_anywhere() {
        let bytes = [frame(b"{\"a\":1}"), frame(b""), frame(b"{\"b\":2}")].concat();
        for split in 0..bytes.len() {
            let (mut frames, mut payloads) = (Frames::default(), Vec::new());
            let (head, tail) = bytes.split_at(split);
            frames.push(head, |payload| payloads.push(payload.to_vec()));
            frames.push(tail, |payload| payloads.push(payload.to_vec()));
            assert_eq!(payloads, [&b"{\"a\":1}"[..], b"", b"{\"b\":2}"]);
        }
    }

    #[test]
    fn what_is_no_frame_ends_it() {
        for bytes in [&[0xff; 32][..], &[0; 32], b"HTTP/1.1 200 OK\r\n\r\n"] {
            let mut frames = Frames::default();
            frames.push(bytes, |_| panic!("there is no frame"));
            assert!(frames.is_broken && frames.pending.is_empty());
        }
    }
}
