//! A request's stream (RFC 9114 section 4.1): a head, a body, trailers that nobody asked for.

use bytes::{Bytes, BytesMut};

use crate::code::Http3Code;
use crate::frame::{self, FrameHead, FramePart, FrameReader};

/// What is found in a request's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestPart {
    /// The field section of the head.
    Head(Bytes),
    /// The head is longer than the limit; nothing behind it is read.
    HeadTooLong,
    /// A piece of the body, never empty.
    Data(Bytes),
}

/// Finds the parts of a request in bytes as they arrive. It buffers a head, up to a limit, and nothing of a body.
#[derive(Debug)]
pub struct RequestReader {
    frames: FrameReader,
    bytes: Bytes,
    max_head_bytes: usize,
    /// What is here of the head.
    head: BytesMut,
    stage: Stage,
    frame: FrameUse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    AfterTrailers,
    Refused,
}

/// What the current frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameUse {
    Head,
    Data,
    /// Unknown, or trailers.
    Passed,
}

impl RequestReader {
    /// A reader that accepts a head of at most `max_head_bytes`, in encoded form.
    pub fn new(max_head_bytes: usize) -> Self {
        Self {
            frames: FrameReader::default(),
            bytes: Bytes::new(),
            max_head_bytes,
            head: BytesMut::new(),
            stage: Stage::Head,
            frame: FrameUse::Passed,
        }
    }

    /// Takes the next bytes. Those before must have been looked at: [`RequestReader::next_part`] gave `None`.
    pub fn push(&mut self, bytes: Bytes) {
        self.bytes = bytes;
    }

    /// The next part; `None` if more bytes are needed.
    ///
    /// # Errors
    /// Why the connection ends: a frame that must not be on this stream, or not here.
    pub fn next_part(&mut self) -> Result<Option<RequestPart>, Http3Code> {
        while let Some(part) = self.frames.next(&mut self.bytes) {
            match part {
                FramePart::Head(head) => {
                    if let Some(part) = self.begin(head)? {
                        return Ok(Some(part));
                    }
                }
                FramePart::Payload(piece) => match self.frame {
                    FrameUse::Passed => {}
                    FrameUse::Data => return Ok(Some(RequestPart::Data(piece))),
                    FrameUse::Head if self.head.is_empty() && self.frames.left() == 0 => {
                        return Ok(Some(self.end_head(piece)));
                    }
                    FrameUse::Head => {
                        self.head.extend_from_slice(&piece);
                        if self.frames.left() == 0 {
                            let head = std::mem::take(&mut self.head).freeze();
                            return Ok(Some(self.end_head(head)));
                        }
                    }
                },
            }
        }
        Ok(None)
    }

    fn end_head(&mut self, head: Bytes) -> RequestPart {
        self.stage = Stage::Body;
        RequestPart::Head(head)
    }

    /// Judges a frame by its head; of a head that is nothing, or too much, there is no payload to wait for.
    fn begin(&mut self, FrameHead { kind, length }: FrameHead) -> Result<Option<RequestPart>, Http3Code> {
        self.frame = match (kind, self.stage) {
            (_, Stage::Refused) => FrameUse::Passed,
            (frame::DATA, Stage::Body) => FrameUse::Data,
            (frame::HEADERS, Stage::Head) if length > self.max_head_bytes as u64 => {
                self.stage = Stage::Refused;
                return Ok(Some(RequestPart::HeadTooLong));
            }
            (frame::HEADERS, Stage::Head) if length == 0 => return Ok(Some(self.end_head(Bytes::new()))),
            (frame::HEADERS, Stage::Head) => FrameUse::Head,
            (frame::HEADERS, Stage::Body) => {
                self.stage = Stage::AfterTrailers;
                FrameUse::Passed
            }
            (
                frame::DATA
                | frame::HEADERS
                | frame::CANCEL_PUSH
                | frame::SETTINGS
                | frame::PUSH_PROMISE
                | frame::GOAWAY
                | frame::MAX_PUSH_ID,
                _,
            ) => return Err(Http3Code::FrameUnexpected),
            (kind, _) if frame::is_of_http2(kind) => return Err(Http3Code::FrameUnexpected),
            _ => FrameUse::Passed,
        };
        Ok(None)
    }

    /// Judges where the stream ended.
    ///
    /// # Errors
    /// [`Http3Code::FrameError`] within a frame, which ends the connection; [`Http3Code::RequestIncomplete`] without a
    /// head, which ends the stream.
    pub fn end(&self) -> Result<(), Http3Code> {
        match self.stage {
            Stage::Refused => Ok(()),
            _ if self.frames.is_within_frame() => Err(Http3Code::FrameError),
            Stage::Head => Err(Http3Code::RequestIncomplete),
            Stage::Body | Stage::AfterTrailers => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(kind: u64, payload: &str) -> Vec<u8> {
        let mut written = Vec::new();
        frame::write_head(kind, payload.len(), &mut written);
        written.extend(payload.as_bytes());
        written
    }

    /// The head, the body, and how the stream ends.
    fn read(stream: &[u8], size: usize) -> Result<(String, String), Http3Code> {
        let mut reader = RequestReader::new(10);
        let (mut head, mut body) = (String::new(), String::new());
        for chunk in stream.chunks(size) {
            reader.push(Bytes::copy_from_slice(chunk));
            while let Some(part) = reader.next_part()? {
                match part {
                    RequestPart::Head(section) => head = format!("{}.", str::from_utf8(&section).unwrap()),
                    RequestPart::HeadTooLong => head = "too long".to_owned(),
                    RequestPart::Data(piece) => body.push_str(str::from_utf8(&piece).unwrap()),
                }
            }
        }
        reader.end()?;
        Ok((head, body))
    }

    #[test]
    fn a_request_is_read_however_it_is_cut() {
        let (head, data) = (framed(1, "head"), |text| framed(0, text));
        type Case<'c> = (&'c str, Vec<Vec<u8>>, Result<(&'c str, &'c str), Http3Code>);
        let cases: &[Case<'_>] = &[
            ("a head", vec![head.clone()], Ok(("head.", ""))),
            ("an empty head", vec![framed(1, "")], Ok((".", ""))),
            ("a body", vec![head.clone(), data("ab"), data(""), data("c")], Ok(("head.", "abc"))),
            ("trailers", vec![head.clone(), data("ab"), framed(1, "more than ten")], Ok(("head.", "ab"))),
            (
                "unknown frames",
                vec![
                    framed(0x21, "longer than ten"),
                    head.clone(),
                    framed(0x21, ""),
                    data("ab"),
                    framed(0x40, "x"),
                ],
                Ok(("head.", "ab")),
            ),
            ("a long head", vec![framed(1, "12345678901"), data("x"), framed(4, "")], Ok(("too long", ""))),
            ("nothing", vec![], Err(Http3Code::RequestIncomplete)),
            ("only an unknown frame", vec![framed(0x21, "")], Err(Http3Code::RequestIncomplete)),
            ("half a head", vec![framed(1, "head")[..3].to_vec()], Err(Http3Code::FrameError)),
            ("half a body", vec![head.clone(), data("ab")[..3].to_vec()], Err(Http3Code::FrameError)),
            ("half of a frame's head", vec![head.clone(), vec![0x40]], Err(Http3Code::FrameError)),
            ("a body before the head", vec![data("x"), head.clone()], Err(Http3Code::FrameUnexpected)),
            (
                "a body behind trailers",
                vec![head.clone(), head.clone(), data("x")],
                Err(Http3Code::FrameUnexpected),
            ),
            (
                "trailers twice",
                vec![head.clone(), head.clone(), head.clone()],
                Err(Http3Code::FrameUnexpected),
            ),
            ("settings", vec![head.clone(), framed(4, "")], Err(Http3Code::FrameUnexpected)),
            ("a promise", vec![framed(5, "x")], Err(Http3Code::FrameUnexpected)),
            ("a frame of HTTP/2", vec![head, framed(8, "abcd")], Err(Http3Code::FrameUnexpected)),
        ];
        for (name, frames, expected) in cases {
            let stream = frames.concat();
            for size in [1, 2, 5, stream.len().max(1)] {
                let expected = expected.map(|(head, body)| (head.to_owned(), body.to_owned()));
                assert_eq!(read(&stream, size), expected, "{name}, in pieces of {size}");
            }
        }
    }
}
