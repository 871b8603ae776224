//! Messages of a WebSocket as a server sends them (RFC 6455 section 5), compressed ones undone (RFC 7692).

use std::io::Cursor;

use flate2::{Decompress, FlushDecompress, Status};
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Data, OpCode};

/// A longer message is not read.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// What a sender leaves off the end of a compressed message (RFC 7692 section 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// Splits messages off as their bytes come.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// Of the head of a frame, as far as it has come.
    head: Vec<u8>,
    /// Bytes of the frame at hand that are still to come.
    left: u64,
    frame: Frame,
    message: Vec<u8>,
    /// Whether the message at hand is compressed, and whether it is longer than is held.
    is_compressed: bool,
    is_overlong: bool,
    compression: Option<Compression>,
    /// What came is no frame of a server: nothing is read any more.
    is_broken: bool,
    unread_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    is_control: bool,
    is_last: bool,
}

#[derive(Debug)]
struct Compression {
    inflate: Decompress,
    /// Whether each message begins again.
    is_fresh: bool,
}

impl Messages {
    /// For a connection with these extensions, as the server has agreed to them.
    pub(super) fn new(extensions: &[u8]) -> Self {
        let extensions = extensions.to_ascii_lowercase();
        let has = |name: &[u8]| memchr::memmem::find(&extensions, name).is_some();
        let compression = has(b"permessage-deflate").then(|| Compression {
            inflate: Decompress::new(false),
            is_fresh: has(b"server_no_context_takeover"),
        });
        Self { compression, ..Self::default() }
    }

    /// Hands on each message that is complete, text or binary.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(&[u8])) {
        while !bytes.is_empty() && !self.is_broken {
            if self.left == 0 {
                let Some((first, rest)) = bytes.split_first() else { return };
                bytes = rest;
                self.head.push(*first);
                let Some(length) = self.head_done() else { continue };
                self.left = length;
            } else {
                let here = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
                let Some((payload, rest)) = bytes.split_at_checked(here) else { return };
                bytes = rest;
                self.left -= here as u64;
                self.payload(payload);
            }
            if self.left == 0 && self.frame.is_last && !self.frame.is_control {
                self.end(&mut take);
            }
        }
        self.unread_bytes += bytes.len() as u64;
    }

    /// Bytes of messages that are too long or compressed wrongly, and of all that follows what is no frame.
    pub(super) fn unread_bytes(&self) -> u64 {
        self.unread_bytes
    }

    /// The length of the payload when the head of a frame is whole.
    fn head_done(&mut self) -> Option<u64> {
        let parsed = FrameHeader::parse(&mut Cursor::new(&self.head));
        // A server does not mask what it sends, and the bit stands in the second byte.
        if parsed.is_err() || self.head.get(1).is_some_and(|second| second & 0x80 != 0) {
            self.is_broken = true;
        }
        let (head, length) = parsed.ok().flatten().filter(|_| !self.is_broken)?;
        self.head.clear();
        self.frame = Frame { is_control: matches!(head.opcode, OpCode::Control(_)), is_last: head.is_final };
        if matches!(head.opcode, OpCode::Data(Data::Text | Data::Binary)) {
            self.message.clear();
            self.is_compressed = head.rsv1;
            self.is_overlong = false;
        }
        Some(length)
    }

    fn payload(&mut self, payload: &[u8]) {
        if self.frame.is_control {
            return;
        }
        self.is_overlong |= self.message.len() + payload.len() > MAX_MESSAGE_BYTES;
        if self.is_overlong {
            self.unread_bytes += (self.message.len() + payload.len()) as u64;
            self.message = Vec::new();
        } else {
            self.message.extend_from_slice(payload);
        }
    }

    fn end(&mut self, take: &mut impl FnMut(&[u8])) {
        self.frame.is_last = false;
        let message_bytes = self.message.len() as u64;
        match &mut self.compression {
            _ if !self.is_compressed && !self.is_overlong => take(&self.message),
            _ if !self.is_compressed => {}
            // Without this message those behind it cannot be read.
            Some(compression) if self.is_overlong => self.is_broken = !compression.is_fresh,
            Some(compression) => match compression.text(&mut self.message) {
                Some(text) => take(&text),
                None => self.is_broken = true,
            },
            None => self.is_broken = true,
        }
        if self.is_broken {
            self.unread_bytes += message_bytes;
        }
        self.message.clear();
    }
}

impl Compression {
    fn text(&mut self, message: &mut Vec<u8>) -> Option<Vec<u8>> {
        if self.is_fresh {
            self.inflate.reset(false);
        }
        message.extend_from_slice(&TAIL);
        let mut text = Vec::new();
        let mut rest = message.as_slice();
        loop {
            text.reserve(4 * rest.len().max(256));
            let before = self.inflate.total_in();
            let status = self.inflate.decompress_vec(rest, &mut text, FlushDecompress::Sync).ok()?;
            let read = usize::try_from(self.inflate.total_in() - before).ok()?;
            rest = rest.get(read..)?;
            if text.len() > MAX_MESSAGE_BYTES {
                return None;
            }
            let has_room = text.len() < text.capacity();
            if rest.is_empty() && has_room || status == Status::StreamEnd || (read == 0 && has_room) {
                return Some(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression as Level, FlushCompress};

    use super::*;

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match payload.len() {
            short @ 0..126 => frame.push(short as u8),
            long @ 126..65_536 => {
                frame.push(126);
                frame.extend_from_slice(&(long as u16).to_be_bytes());
            }
            longer => {
                frame.push(127);
                frame.extend_from_slice(&(longer as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(payload);
        frame
    }

    fn read(extensions: &str, stream: &[u8], split: usize) -> (Vec<Vec<u8>>, bool) {
        let (mut messages, mut read) = (Messages::new(extensions.as_bytes()), Vec::new());
        let (head, tail) = stream.split_at(split);
        messages.push(head, |message| read.push(message.to_vec()));
        messages.push(tail, |message| read.push(message.to_vec()));
        (read, messages.is_broken)
    }

    #[test]
    fn messages_split_anywhere_whatever_their_frames() {
        let long = vec![b'x'; 300];
        let stream = [
            frame(0x81, b"one"),
            frame(0x89, b"ping"),
            frame(0x01, b"tw"),
            frame(0x8A, b""),
            frame(0x80, b"o"),
            frame(0x82, &long),
            frame(0x81, b""),
            frame(0x88, b"\x03\xe8"),
        ]
        .concat();
        for split in 0..=stream.len() {
            let (read, is_broken) = read("", &stream, split);
            assert_eq!(read, [b"one".to_vec(), b"two".to_vec(), long.clone(), Vec::new()], "{split}");
            assert!(!is_broken);
        }
    }

    #[test]
    fn compressed_messages_are_read_with_and_without_what_went_before() {
        let texts = [
            b"{\"a\":\"hello hello hello\"}".to_vec(),
            b"{\"a\":\"hello hello hello\"}".to_vec(),
            vec![b'y'; 5000],
        ];
        for (extensions, is_fresh) in
            [("permessage-deflate", false), ("x, permessage-deflate; server_no_context_takeover", true)]
        {
            let mut deflate = Compress::new(Level::default(), false);
            let mut stream = Vec::new();
            for text in &texts {
                if is_fresh {
                    deflate.reset();
                }
                let mut out = Vec::with_capacity(text.len() + 64);
                deflate.compress_vec(text, &mut out, FlushCompress::Sync).unwrap();
                assert!(out.ends_with(&TAIL));
                out.truncate(out.len() - TAIL.len());
                stream.extend(frame(0xC1, &out));
            }
            for split in 0..=stream.len() {
                assert_eq!(read(extensions, &stream, split), (texts.to_vec(), false), "{split}");
            }
        }
    }

    #[test]
    fn what_is_no_frame_of_a_server_ends_the_reading() {
        for bytes in [&[0x81, 0x85, 1, 2, 3, 4][..], &frame(0xC1, b"no extension"), &[0xFF; 64]] {
            assert_eq!(read("", bytes, 1), (Vec::new(), true));
        }
        let bomb = [frame(0x81, &vec![b'x'; MAX_MESSAGE_BYTES + 1]), frame(0x81, b"next")].concat();
        assert_eq!(read("", &bomb, 5), (vec![b"next".to_vec()], false));
        assert_eq!(read("permessage-deflate", &frame(0xC1, b"\xff\xff\xff"), 2), (Vec::new(), true));
    }
}
