//! Frames of `application/vnd.amazon.eventstream`: lengths, headers, a payload of JSON, two checksums.

use aws_smithy_eventstream::frame::read_message_from;
use bytes::Bytes;

use super::tap::field;

/// A longer frame is no event of a model.
const MAX_FRAME_BYTES: usize = 1 << 20;

/// Whether a media type is that of such frames.
pub(crate) fn is_its_type(media_type: &[u8]) -> bool {
    media_type.eq_ignore_ascii_case(b"application/vnd.amazon.eventstream")
}

/// A model's own JSON, which some frames have in Base64.
pub(crate) fn inner(payload: &[u8]) -> Option<Vec<u8>> {
    let text = field::<String>(payload, "bytes")?;
    body::base64::decode_all(text.bytes().filter(|byte| *byte != b'='))
}

/// Splits frames off as their bytes come.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pending: Vec<u8>,
    is_broken: bool,
    unread_bytes: u64,
}

impl Frames {
    /// Calls `take` with the payload of each complete frame. Stops reading the stream at a frame with a wrong length or
    /// checksum.
    pub(crate) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        if self.is_broken {
            self.unread_bytes += bytes.len() as u64;
            return;
        }
        self.pending.extend_from_slice(bytes);
        let mut from = 0;
        while let Some(total) = frame_bytes(self.pending.get(from..).unwrap_or(&[])) {
            let frame = self.pending.get(from..from.saturating_add(total));
            if total > MAX_FRAME_BYTES {
                return self.give_up(from);
            }
            let Some(frame) = frame else { break };
            match read_message_from(Bytes::copy_from_slice(frame)) {
                Ok(message) => take(message.payload()),
                Err(_) => return self.give_up(from),
            }
            from += total;
        }
        self.pending.drain(..from);
    }

    /// Bytes from the frame on that could not be read, or was not whole.
    pub(super) fn unread_bytes(&self) -> u64 {
        self.unread_bytes + self.pending.len() as u64
    }

    fn give_up(&mut self, from: usize) {
        self.is_broken = true;
        self.unread_bytes = (self.pending.len() - from) as u64;
        self.pending = Vec::new();
    }
}

/// How long the frame is that begins with these bytes; `None` if they do not say yet.
fn frame_bytes(bytes: &[u8]) -> Option<usize> {
    let total = u32::from_be_bytes(*bytes.first_chunk()?);
    // The length is four bytes itself. A smaller one would let the loop stand still.
    Some(usize::try_from(total).unwrap_or(usize::MAX).max(4))
}

/// A frame with an event's headers.
#[cfg(test)]
pub(crate) fn frame(payload: &[u8]) -> Vec<u8> {
    use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
    let kind = Header::new(":event-type", HeaderValue::String("chunk".into()));
    let message = Message::new(Bytes::copy_from_slice(payload)).add_header(kind);
    let mut frame = Vec::new();
    aws_smithy_eventstream::frame::write_message_to(&message, &mut frame).unwrap();
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_changed_bit_is_noticed_wherever_it_is() {
        let whole = frame(b"{\"a\":1}");
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut frames = Frames::default();
            frames.push(&bytes, |payload| panic!("bit {bit} of {payload:?} was changed"));
            // A longer frame is waited for.
            assert!(frames.is_broken || bit < 32, "bit {bit}");
        }
    }
}
