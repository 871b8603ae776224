//! Answers that the gateway passes on itself: head, pieces, end.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, header};
use pingora::http::ResponseHeader;
use pingora::protocols::http::client::HttpSession;
use pingora::proxy::Session;
use pingora::{Error, ErrorType, Result};

use super::Edge;
use super::call::Call;
use super::context::Context;
use super::headers::HOP_BY_HOP;
use super::held_bodies::Share;
use body::decompress::Coding;
use gateway::cache;
use gateway::include_usage::Withheld;
use gateway::sse;

/// Sends the head of an answer.
pub(super) async fn begin(
    mut head: ResponseHeader,
    cache_status: Option<&'static str>,
    has_body: bool,
    session: &mut Session,
    ctx: &Context,
) -> Result<()> {
    if let Some(status) = cache_status {
        head.insert_header("svc-aig-cache-status", status)?;
    }
    head.insert_header("svc-ray", &ctx.ray)?;
    frame(&mut head, session);
    session.write_response_header(Box::new(head), !has_body).await.map_err(|error| error.into_down())
}

/// How long a client may take for a piece before others no longer wait for it.
const STALL: Duration = Duration::from_secs(1);

/// What a silent event stream is kept alive with: a comment (HTML Living Standard, section 9.2.6), which every
/// reader of event streams skips.
const HEARTBEAT: &[u8] = b": \n\n";

/// An event stream that goes on as it stands, but for what the gateway says itself or withholds.
#[derive(Debug)]
pub(super) struct EventStream {
    /// How long it may be silent before a sign of life; zero for ever.
    interval: Duration,
    withheld: Option<Withheld>,
    /// Of what went out: a sign of life can stand only between two events.
    position: sse::Position,
}

impl EventStream {
    /// `None` for an answer that is no event stream, is encoded or has a length.
    pub(super) fn of(answered: &ResponseHeader, call: &Call) -> Option<Self> {
        let field = |name| super::headers::bytes(&answered.headers, name);
        let is_stream = body::is_event_stream(body::media_type(field(&header::CONTENT_TYPE)));
        let is_plain = Coding::of(field(&header::CONTENT_ENCODING)) == Some(Coding::Identity);
        let goes_on = !answered.headers.contains_key(header::CONTENT_LENGTH);
        (is_stream && is_plain && goes_on).then(|| Self {
            interval: call.gateway.settings.heartbeat,
            withheld: call.withholds_usage.then(Withheld::default),
            position: sse::Position::default(),
        })
    }

    /// What goes on of a piece; may be nothing.
    fn push(&mut self, piece: Bytes) -> Bytes {
        let piece = match &mut self.withheld {
            Some(withheld) => withheld.push(&piece),
            None => piece,
        };
        self.position.push(&piece);
        piece
    }

    fn finish(self) -> Bytes {
        self.withheld.map(Withheld::finish).unwrap_or_default()
    }
}

/// Ends when it is time for a sign of life.
async fn due(stream: Option<&EventStream>) {
    match stream.filter(|stream| !stream.interval.is_zero() && stream.position.is_between_events()) {
        Some(stream) => tokio::time::sleep(stream.interval).await,
        None => std::future::pending().await,
    }
}

/// Where the body of an answer comes from: what was held of it, then the provider.
pub(super) struct AnswerSource {
    upstream: HttpSession,
    held: VecDeque<Bytes>,
    /// What they take of the bytes that all held bodies may.
    share: Share,
    /// Whether the provider has said everything.
    is_whole: bool,
}

impl AnswerSource {
    pub(super) fn new(upstream: HttpSession, share: Share) -> Self {
        Self { upstream, held: VecDeque::new(), share, is_whole: false }
    }

    /// Holds what the provider says to its end; false if that is longer than `longest` bytes, or if all held bodies are
    /// longer than `most_held`.
    pub(super) async fn hold(
        &mut self,
        longest: usize,
        most_held: usize,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        let mut bytes = 0;
        loop {
            let piece = tokio::select! {
                biased;
                piece = self.read(ctx) => piece?,
                () = gone(session) => return Err(client_gone()),
            };
            let Some(piece) = piece else { return Ok(true) };
            bytes += piece.len();
            let fits = bytes <= longest && self.share.take(piece.len(), most_held);
            self.held.push_back(piece);
            if !fits {
                return Ok(false);
            }
        }
    }

    /// What is held, as one.
    pub(super) fn held(&self) -> Bytes {
        self.held.iter().map(Bytes::as_ref).collect::<Vec<_>>().concat().into()
    }

    /// Puts other bytes in the place of what is held; the provider has to have said everything.
    pub(super) fn replace(&mut self, bytes: Bytes) {
        self.held = VecDeque::from([bytes]);
    }

    pub(super) fn into_upstream(self) -> HttpSession {
        self.upstream
    }

    /// The next piece.
    async fn next(&mut self, ctx: &mut Context) -> Result<Option<Bytes>> {
        match self.held.pop_front() {
            Some(piece) => Ok(Some(piece)),
            None => self.read(ctx).await,
        }
    }

    /// Takes a piece from the provider, and counts it for the call.
    async fn read(&mut self, ctx: &mut Context) -> Result<Option<Bytes>> {
        if self.is_whole {
            return Ok(None);
        }
        let piece = self.upstream.read_response_body().await.map_err(|error| error.into_up())?;
        self.is_whole = piece.is_none();
        let started = ctx.started;
        if let (Some(piece), Some(call)) = (&piece, ctx.call()) {
            call.answer_chunk(piece, || started.elapsed());
        }
        Ok(piece)
    }
}

/// Passes a body on piece by piece. Returns the pieces if they are to be kept and are not too long. Calls `stalled`
/// if the client does not take a piece.
pub(super) async fn pass(
    edge: &Edge,
    source: &mut AnswerSource,
    keeps: bool,
    mut stream: Option<EventStream>,
    mut stalled: impl FnMut(),
    session: &mut Session,
    ctx: &mut Context,
) -> Result<Option<Vec<Bytes>>> {
    let mut kept = Kept { pieces: keeps.then(Vec::new), bytes: 0 };
    loop {
        let piece = {
            // Not begun again behind a sign of life: what it has read would be lost.
            let next = source.next(ctx);
            tokio::pin!(next);
            loop {
                tokio::select! {
                    // What is there is read first: a client may go as soon as it has the whole answer.
                    biased;
                    piece = &mut next => break piece?,
                    () = gone(session) => return Err(client_gone()),
                    () = due(stream.as_ref()) => {
                        let sign = Bytes::from_static(HEARTBEAT);
                        send(sign, session).await?;
                    }
                }
            }
        };
        let Some(piece) = piece else { break };
        edge.check_caller(ctx)?;
        let piece = match &mut stream {
            Some(stream) => stream.push(piece),
            None => piece,
        };
        kept.push(&piece);
        let sent = send(piece, session);
        tokio::pin!(sent);
        match tokio::time::timeout(STALL, &mut sent).await {
            Ok(sent) => sent?,
            Err(_) => {
                stalled();
                sent.await?;
            }
        }
    }
    let rest = stream.map(EventStream::finish).unwrap_or_default();
    kept.push(&rest);
    send(rest, session).await?;
    session.write_response_body(None, true).await.map_err(|error| error.into_down())?;
    Ok(kept.pieces)
}

/// A copy of an answer, until it is too long.
struct Kept {
    pieces: Option<Vec<Bytes>>,
    bytes: usize,
}

impl Kept {
    fn push(&mut self, piece: &Bytes) {
        self.bytes += piece.len();
        self.pieces = self.pieces.take().filter(|_| self.bytes <= cache::MAX_ANSWER_BYTES);
        if let Some(pieces) = self.pieces.as_mut().filter(|_| !piece.is_empty()) {
            pieces.push(piece.clone());
        }
    }
}

/// Sends a piece; nothing would be the end of a body in chunks.
pub(super) async fn send(piece: Bytes, session: &mut Session) -> Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    session.write_response_body(Some(piece), false).await.map_err(|error| error.into_down())
}

/// Frames an answer for the client's connection.
pub(super) fn frame(head: &mut ResponseHeader, session: &mut Session) {
    for name in HOP_BY_HOP {
        head.remove_header(*name);
    }
    let has_length = head.headers.contains_key(header::CONTENT_LENGTH);
    match session.req_header().version {
        http::Version::HTTP_11
            if !has_length && !head.status.is_informational() && head.status != 204 && head.status != 304 =>
        {
            // INVARIANT: the name and the value are valid.
            let _ = head.insert_header(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        // Its body ends with the connection.
        http::Version::HTTP_10 if !has_length => session.set_keepalive(None),
        _ => {}
    }
}

/// What a request whose client does not wait for its answer ends with.
pub(super) fn client_gone() -> Box<Error> {
    Error::explain(ErrorType::ConnectionClosed, "the client went away").into_down()
}

/// Ends when the client does.
pub(super) async fn gone(session: &mut Session) {
    // Bytes behind the body can only be of a next request, which comes later.
    while let Ok(Some(_)) = session.as_downstream_mut().read_body_or_idle(true).await {}
}
