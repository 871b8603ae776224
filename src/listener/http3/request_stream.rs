//! What a client sends on a request's stream: the head, then the body.

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use pingora::http::RequestHeader;
use quinn::{ReadError, RecvStream};

use super::code;
use crate::admission::Refused;
use http3::{DecodedHead, Http3Code, Malformed, RequestPart, RequestReader};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// What is kept of a body so that it can be sent again, in bytes; of a longer one nothing.
const MAX_KEPT_BYTES: usize = 64 << 10;

/// How reading a head ended.
pub(super) enum HeadOutcome {
    Arrived(Box<ArrivedHead>),
    /// The client took the request back, or is gone.
    Gone,
    StreamError(Http3Code),
    ConnectionError(Http3Code),
}

/// A request's head, and why it is refused, if it is.
pub(super) struct ArrivedHead {
    pub(super) request: RequestHeader,
    pub(super) refused: Option<Refused>,
}

impl ArrivedHead {
    /// Whether a body comes or may come late, so that it need not be waited for.
    pub(super) fn announces_body(&self) -> bool {
        let headers = &self.request.headers;
        let content_type = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
        self.refused.is_some()
            || headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0")
            || headers.contains_key(EXPECT)
            // Such a client may wait for the answer before it sends anything.
            || body::is_grpc(body::media_type(content_type))
    }
}

/// Why no more of a body comes.
#[derive(Debug)]
pub(super) enum BodyFault {
    /// The client took the request back, or is gone.
    Gone(ReadError),
    /// It is not as long as the head says.
    Length,
    /// Frames are not as they must be; the connection ends.
    Frames(Http3Code),
}

pub(super) struct RequestStream {
    recv: RecvStream,
    reader: RequestReader,
    /// A piece that was read and not given yet.
    ahead: Option<Bytes>,
    has_ended: bool,
    /// As the head says, in bytes.
    announced: Option<u64>,
    /// What came of it, in bytes.
    received: u64,
    /// What was given of it, in bytes.
    given: usize,
    kept: Kept,
}

/// What is kept of a body so that it can be sent again.
enum Kept {
    Nothing,
    All(BytesMut),
    TooMuch,
}

impl RequestStream {
    /// Reads a stream whose head has at most `max_head_bytes`, in encoded form.
    pub(super) fn new(recv: RecvStream, max_head_bytes: usize) -> Self {
        Self {
            recv,
            reader: RequestReader::new(max_head_bytes),
            ahead: None,
            has_ended: false,
            announced: None,
            received: 0,
            given: 0,
            kept: Kept::Nothing,
        }
    }

    /// Reads the head, of fields up to so many bytes.
    pub(super) async fn head(&mut self, max_bytes: usize) -> HeadOutcome {
        let section = loop {
            match self.reader.next_part() {
                Ok(Some(RequestPart::Head(section))) => break section,
                Ok(Some(RequestPart::HeadTooLong)) => {
                    // Whoever sends one hears so.
                    return HeadOutcome::Arrived(Box::new(ArrivedHead {
                        request: stand_in(),
                        refused: Some(Refused::HeaderSectionTooLong),
                    }));
                }
                // INVARIANT: no body comes before a head.
                Ok(Some(RequestPart::Data(_))) | Ok(None) => {}
                Err(error) => return HeadOutcome::ConnectionError(error),
            }
            match self.recv.read_chunk(READ_BYTES, true).await {
                Ok(Some(chunk)) => self.reader.push(chunk.bytes),
                Ok(None) => {
                    return match self.reader.end() {
                        Err(error @ Http3Code::RequestIncomplete) => HeadOutcome::StreamError(error),
                        Err(error) => HeadOutcome::ConnectionError(error),
                        Ok(()) => HeadOutcome::StreamError(Http3Code::RequestIncomplete),
                    };
                }
                Err(_) => return HeadOutcome::Gone,
            }
        };
        let head = match DecodedHead::read(&section, max_bytes) {
            Ok(head) => head,
            Err(error) => return HeadOutcome::ConnectionError(error),
        };
        let refused = head.malformed.map(|malformed| match malformed {
            Malformed::Method => Refused::BadMethod,
            Malformed::RequestLine => Refused::BadRequestLine,
            Malformed::Field => Refused::BadHeaderField,
            Malformed::TooLong => Refused::HeaderSectionTooLong,
        });
        let (parts, ()) = head.request.into_parts();
        // What is no number is refused by whoever judges framing.
        let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        self.announced = length.and_then(|length| length.parse().ok());
        HeadOutcome::Arrived(Box::new(ArrivedHead { request: RequestHeader::from(parts), refused }))
    }

    /// Waits for the first piece of the body, or its end.
    pub(super) async fn look_ahead(&mut self) -> Result<(), BodyFault> {
        self.ahead = self.read().await?;
        Ok(())
    }

    /// The next piece; `None` at the end. May be given up and called again.
    pub(super) async fn next_piece(&mut self) -> Result<Option<Bytes>, BodyFault> {
        let piece = match self.ahead.take() {
            Some(piece) => Some(piece),
            None => self.read().await?,
        };
        if let Some(piece) = &piece {
            self.given += piece.len();
            if let Kept::All(kept) = &mut self.kept {
                match kept.len() + piece.len() <= MAX_KEPT_BYTES {
                    true => kept.extend_from_slice(piece),
                    false => self.kept = Kept::TooMuch,
                }
            }
        }
        Ok(piece)
    }

    async fn read(&mut self) -> Result<Option<Bytes>, BodyFault> {
        loop {
            if self.has_ended {
                return Ok(None);
            }
            if let Some(RequestPart::Data(piece)) = self.reader.next_part().map_err(BodyFault::Frames)? {
                self.received += piece.len() as u64;
                let is_too_long = self.announced.is_some_and(|announced| self.received > announced);
                return if is_too_long { Err(BodyFault::Length) } else { Ok(Some(piece)) };
            }
            match self.recv.read_chunk(READ_BYTES, true).await.map_err(BodyFault::Gone)? {
                Some(chunk) => self.reader.push(chunk.bytes),
                None => {
                    self.reader.end().map_err(BodyFault::Frames)?;
                    if self.announced.is_some_and(|announced| self.received < announced) {
                        return Err(BodyFault::Length);
                    }
                    self.has_ended = true;
                }
            }
        }
    }

    /// Whether all of it was given.
    pub(super) fn is_done(&self) -> bool {
        self.ahead.is_none() && (self.has_ended || self.is_empty())
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.given == 0 && self.ahead.is_none() && (self.has_ended || self.announced == Some(0))
    }

    /// What was given of it, in bytes.
    pub(super) fn given_bytes(&self) -> usize {
        self.given
    }

    /// Keeps what is given from now on, so that it can be sent again.
    pub(super) fn keep(&mut self) {
        if matches!(self.kept, Kept::Nothing) {
            self.kept = Kept::All(BytesMut::new());
        }
    }

    /// Whether it was too long to be kept.
    pub(super) fn is_too_long_to_keep(&self) -> bool {
        matches!(self.kept, Kept::TooMuch)
    }

    /// What was kept; `None` if nothing was.
    pub(super) fn kept(&self) -> Option<Bytes> {
        match &self.kept {
            Kept::All(kept) if !kept.is_empty() => Some(Bytes::copy_from_slice(kept)),
            _ => None,
        }
    }
}

impl Drop for RequestStream {
    fn drop(&mut self) {
        if !self.has_ended {
            // The answer stands without the rest (RFC 9114 section 4.1). Fails if the stream has ended.
            let _ = self.recv.stop(code(Http3Code::NoError));
        }
    }
}

/// What stands for a head that was not read.
fn stand_in() -> RequestHeader {
    let mut request = http::Request::new(());
    *request.version_mut() = http::Version::HTTP_3;
    RequestHeader::from(request.into_parts().0)
}
