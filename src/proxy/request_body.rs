//! The one owner of a request's body.
//!
//! A body is *unread*, then *held* here in whole or in part, then *released* to go on. Everything that has to
//! see a body asks [`RequestBody::hold`], and nothing else reads it from the connection. What was held goes on
//! from memory ([`super::forwarded_session`]), so an origin hears of a request only after everything that may
//! refuse it has decided.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pingora::http::RequestHeader;
use pingora::proxy::Session;
use pingora::{Error, ErrorType, Result};

use super::forwarded_session::{self, AnswerTimeout, InMemory, Slot};
use super::headers;
use super::held_bodies::{HeldBodies, Share};
use super::offload::Offload;
use crate::clock::{Clock, Stopwatch};
use body::decompress::{self, Coding};
use body::grpc;

/// The slowest upload that is waited for while its body is held, in bytes a second.
const MIN_BYTES_PER_SECOND: u64 = 1 << 10;

/// Pieces of a body that are read before other requests have a turn, because pieces may be a byte each and all
/// here already.
const PIECES_AT_ONCE: usize = 128;

/// Memory that is taken for a body before its bytes come.
const MAX_RESERVED_BYTES: usize = 64 << 10;

/// The body of one request.
#[derive(Default)]
pub(super) enum RequestBody {
    #[default]
    Unread,
    Held {
        body: Held,
        /// Counts while the bytes are in memory.
        share: Share,
    },
    /// On its way; `end` is `None` if nothing is held.
    Released { slot: Slot, end: Option<HeldEnd> },
}

/// What was read of a body.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) bytes: Bytes,
    pub(super) end: HeldEnd,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldEnd {
    /// All of it is here.
    Whole,
    /// It is longer than one body may be.
    TooLong,
    /// All held bodies together would be too many bytes.
    NoRoom,
    /// It is a stream of messages, of which the first is here.
    FirstMessage,
}

/// How a body is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldLimits {
    /// Of one body, in bytes.
    pub(super) body_bytes: usize,
    /// Of all bodies of the process, in bytes.
    pub(super) all_bytes: usize,
    /// How long the client may send nothing.
    pub(super) idle: Duration,
    /// Runs since the body is read.
    pub(super) begun: Stopwatch,
    /// Whether the first part of a body that is too long is wanted. If not, a body that is announced as too
    /// long is not read at all.
    pub(super) wants_first_part: bool,
    /// Whether the upstream can answer gRPC messages while the client still sends.
    pub(super) may_stream: bool,
}

impl HoldLimits {
    pub(super) fn of(limits: &crate::conf::Limits, clock: Clock) -> Self {
        Self {
            body_bytes: limits.inspected_body.0,
            all_bytes: limits.inspected_bodies.0,
            idle: limits.idle_timeout,
            begun: clock.start(),
            wants_first_part: false,
            may_stream: false,
        }
    }
}

impl RequestBody {
    /// Reads the body as far as the limits let it; a body that is held already is not read again.
    ///
    /// # Errors
    /// The client broke off, or did not send in time.
    pub(super) async fn hold(
        &mut self,
        session: &mut Session,
        limits: HoldLimits,
        held_bodies: &HeldBodies,
    ) -> Result<Held> {
        if let Self::Held { body, .. } = self {
            return Ok(body.clone());
        }
        let mut share = held_bodies.share();
        let body = read(session, limits, &mut share).await?;
        *self = Self::Held { body: body.clone(), share };
        Ok(body)
    }

    /// Lets the body go on: from here on the session reads it from memory first, then from the connection.
    pub(super) fn release(&mut self, session: &mut Session, is_web_socket: bool, patience: AnswerTimeout) {
        let (held, end) = match std::mem::take(self) {
            Self::Held { body, share } if !body.bytes.is_empty() => {
                let is_whole = body.end == HeldEnd::Whole;
                (Some(InMemory { bytes: body.bytes, is_whole, share }), Some(body.end))
            }
            other if !is_web_socket && (other.is_whole() || session.is_body_empty()) => {
                *self = other;
                return;
            }
            _ => (None, None),
        };
        *self =
            Self::Released { slot: forwarded_session::begin(session, held, is_web_socket, patience), end };
    }

    /// Gives the session its connection back, if it was let go on from memory.
    pub(super) fn end(&mut self, session: &mut Session) {
        if let Self::Released { slot, .. } = std::mem::take(self) {
            forwarded_session::end(session, &slot);
        }
    }

    /// Whether it was read here, in whole or in part.
    pub(super) fn is_held(&self) -> bool {
        match self {
            Self::Unread => false,
            Self::Held { body, .. } => body.end == HeldEnd::Whole || !body.bytes.is_empty(),
            Self::Released { end, .. } => end.is_some(),
        }
    }

    /// Whether all of it was read here.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Unread => false,
            Self::Held { body, .. } => body.end == HeldEnd::Whole,
            Self::Released { end, .. } => *end == Some(HeldEnd::Whole),
        }
    }
}

fn nothing(end: HeldEnd) -> Held {
    Held { bytes: Bytes::new(), end }
}

async fn read(session: &mut Session, limits: HoldLimits, share: &mut Share) -> Result<Held> {
    if session.is_body_empty() {
        return Ok(nothing(HeldEnd::Whole));
    }
    let request = session.req_header();
    let streams = limits.may_stream && is_grpc(request);
    let announced = headers::content_length(&request.headers).unwrap_or(0);
    let is_long = announced > limits.body_bytes as u64;
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    if is_long && !limits.wants_first_part && !streams {
        return Ok(nothing(HeldEnd::TooLong));
    }
    if headers::expects_continue(request) {
        session.as_downstream_mut().write_continue_response().await?;
    }
    // One buffer: of many small pieces each would take more memory than its bytes.
    let mut bytes = BytesMut::new();
    let mut pieces = 0usize;
    let end = loop {
        pieces += 1;
        if pieces.is_multiple_of(PIECES_AT_ONCE) {
            tokio::task::yield_now().await;
        }
        let mut reading = pin!(session.as_downstream_mut().read_request_body());
        let piece = match poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await {
            Poll::Ready(piece) => piece,
            // Only who waits needs a clock.
            Poll::Pending => {
                let slowest = limits.idle + Duration::from_secs(bytes.len() as u64 / MIN_BYTES_PER_SECOND);
                let wait = limits.idle.min(slowest.saturating_sub(limits.begun.elapsed()));
                tokio::time::timeout(wait, reading).await.map_err(|_| late())?
            }
        };
        let Some(piece) = piece.map_err(Error::into_down)? else { break HeldEnd::Whole };
        let has_room = share.take(piece.len(), limits.all_bytes);
        if pieces == 1 {
            // What is announced is believed only so far.
            bytes.reserve(announced.min(MAX_RESERVED_BYTES));
        }
        bytes.extend_from_slice(&piece);
        match () {
            () if bytes.len() > limits.body_bytes => break HeldEnd::TooLong,
            () if !has_room => break HeldEnd::NoRoom,
            () if streams && grpc::split_first(&bytes).is_some() => break HeldEnd::FirstMessage,
            () => {}
        }
    };
    Ok(Held { bytes: bytes.freeze(), end })
}

fn late() -> Box<Error> {
    Error::explain(ErrorType::ReadTimedout, "the body did not arrive in time").into_down()
}

/// A held body as a reader sees it, with its content coding undone (RFC 9110 section 8.4); `None` if that
/// cannot be had within the limits.
pub(super) async fn decoded(
    bytes: &Bytes,
    fields: &http::HeaderMap,
    limits: &crate::conf::Limits,
    offload: &Offload,
) -> Option<Bytes> {
    let coding = |name: &str| {
        let mut codings = fields.get_all(name).iter();
        let coding = codings.next().map_or(Some(Coding::Identity), |value| Coding::of(value.as_bytes()));
        coding.filter(|_| codings.next().is_none())
    };
    let limits =
        decompress::Limits { output_bytes: limits.inspected_body.0, ratio: limits.decompression_ratio };
    let mut bytes = bytes.clone();
    let of_body = coding("content-encoding")?;
    if of_body != Coding::Identity && !bytes.is_empty() {
        let decoded = offload.run(bytes.len(), move || decompress::decode(of_body, &bytes, limits)).await?;
        bytes = (decoded.end == decompress::End::Complete).then(|| decoded.bytes.into())?;
    }
    let content_type = headers::bytes(fields, &http::header::CONTENT_TYPE);
    let media_type = body::media_type(content_type);
    if !body::is_grpc(media_type) {
        return Some(bytes);
    }
    if grpc::is_web_text(media_type) {
        bytes = grpc::decode_web_text(&bytes).into();
    }
    if !grpc::messages(&bytes).any(|message| message.is_compressed) {
        return Some(bytes);
    }
    let of_messages = coding("grpc-encoding").filter(|coding| *coding != Coding::Identity);
    offload.run(bytes.len(), move || grpc::decode(&bytes, of_messages, limits)).await?.map(Bytes::from)
}

/// Whether a request is a gRPC call, whose client may wait for an answer before it sends more. Only HTTP/2
/// and HTTP/3 carry those, and none codes its body as a whole.
fn is_grpc(request: &RequestHeader) -> bool {
    let mut content_types = request.headers.get_all(http::header::CONTENT_TYPE).iter();
    let content_type = content_types.next().map_or(&b""[..], |value| value.as_bytes());
    matches!(request.version, http::Version::HTTP_2 | http::Version::HTTP_3)
        && body::is_grpc(body::media_type(content_type))
        && content_types.next().is_none()
        && !request.headers.contains_key(http::header::CONTENT_ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grpc_call_is_known_by_its_head() {
        let head = |version, fields: &[(&'static str, &'static str)]| {
            let mut head = RequestHeader::build("POST", b"/", None).unwrap();
            head.set_version(version);
            for (name, value) in fields {
                head.append_header(*name, *value).unwrap();
            }
            head
        };
        let (h1, h2, h3) = (http::Version::HTTP_11, http::Version::HTTP_2, http::Version::HTTP_3);
        let grpc = ("content-type", "application/grpc+proto");
        for (version, fields, expected) in [
            (h2, &[grpc][..], true),
            (h3, &[grpc], true),
            (h1, &[grpc], false),
            (h2, &[("content-type", "text/plain")], false),
            (h2, &[grpc, ("content-type", "text/plain")], false),
            (h2, &[grpc, ("content-encoding", "deflate")], false),
            (h2, &[], false),
        ] {
            assert_eq!(is_grpc(&head(version, fields)), expected, "{version:?} {fields:?}");
        }
    }
}
