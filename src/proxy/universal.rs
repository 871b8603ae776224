//! WebSockets of the universal endpoint: each question is a request of ours to that endpoint, so tokens, limits,
//! cache, rows and refusals are what they are over HTTP, and the end of the connection cancels what is under way.

use std::io::{self, Read, Write};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use pingora::Result;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::http::client::HttpSession;
use pingora::proxy::Session;
use sha1::{Digest, Sha1};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocket, WebSocketConfig};
use tungstenite::{Message, Utf8Bytes};

use super::context::Context;
use super::held_bodies::Share;
use super::origin_timeout::UPGRADED_IDLE;
use super::refusal::Refusal;
use super::{Edge, delivery, headers, refuse};
use crate::listener::{ConnectionMeta, until};
use ::gateway::answer::GatewayError;
use body::decompress::{self, Coding};
use gateway::universal_socket::{self, Ask, Metadata, Stream};

/// Questions of one connection that are under way.
const MAX_UNDER_WAY: usize = 64;
/// Messages to the client that wait for it.
const MAX_WAITING: usize = 16;
/// Longest answer that goes into one message.
const MAX_ANSWER_BYTES: usize = 32 << 20;
const TOO_LONG: pingora::ErrorType = pingora::ErrorType::Custom("answer_too_long");
/// What an answer may grow to when its coding is undone.
const DECODED: decompress::Limits = decompress::Limits { output_bytes: MAX_ANSWER_BYTES, ratio: 1000 };
/// Goes behind a client's key (RFC 6455 section 1.3).
const KEY_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Before the payload of a control frame of a client: its first two bytes and the mask.
const CONTROL_HEAD_BYTES: usize = 6;
/// A client is not asked more often whether it is there.
const MIN_HEARTBEAT: Duration = Duration::from_millis(100);
const READ_BUFFER_BYTES: usize = 4 << 10;

impl Edge {
    /// Answers the questions of a connection until it ends.
    pub(super) async fn converse(&self, session: &mut Session, ctx: &mut Context) -> Result<()> {
        let head = match accepted(&session.req_header().headers, &ctx.ray) {
            Ok(head) => head,
            Err(reason) => {
                ctx.reason = Some(reason.to_owned());
                return refuse(ctx, Refusal::Gateway(GatewayError::BadRequest));
            }
        };
        let meta = ConnectionMeta::of(session.digest()).cloned();
        let (Some(meta), Some(mut shutdown)) = (meta, self.door.shutdown()) else {
            return refuse(ctx, Refusal::Gateway(GatewayError::ProviderFailed));
        };
        let questions = self.question_head(session, ctx)?;
        let limits = &ctx.snapshot.limits;
        let mut socket = Socket::new(limits.inspected_body.0);
        let (most_held, heartbeat) =
            (limits.inspected_bodies.0, (limits.idle_timeout / 2).max(MIN_HEARTBEAT));
        session.set_read_timeout(Some(UPGRADED_IDLE));
        meta.progress.upgrade();
        session.write_response_header(Box::new(head), false).await.map_err(|error| error.into_down())?;

        let (out, mut answers) = mpsc::channel(MAX_WAITING);
        let mut under_way = JoinSet::new();
        let mut share = self.held_bodies.share();
        // A client that says nothing is asked whether it is there.
        let mut silence = tokio::time::interval(heartbeat);
        silence.reset();
        let mut has_asked = false;
        while !socket.is_done() {
            if let Some(bytes) = socket.take() {
                delivery::send(bytes, session).await?;
                continue;
            }
            tokio::select! {
                read = session.as_downstream_mut().read_request_body() => {
                    let Some(bytes) = read.map_err(|error| error.into_down())? else { break };
                    silence.reset();
                    has_asked = false;
                    if !share.take(bytes.len(), most_held) {
                        socket.close(CloseCode::Again, "too much is being asked at once");
                        continue;
                    }
                    socket.push(bytes);
                    while let Some(text) = socket.next() {
                        let held = std::mem::replace(&mut share, self.held_bodies.share());
                        let question = Question { out: out.clone(), _held: held };
                        if let Err(refused) = self.begin(&text, question, &questions, &meta, &mut under_way) {
                            socket.send(refused);
                        }
                    }
                    share.put_back(std::mem::take(&mut socket.control_bytes));
                }
                Some(text) = answers.recv() => socket.send(text),
                Some(_) = under_way.join_next(), if !under_way.is_empty() => {}
                _ = silence.tick() => {
                    if std::mem::replace(&mut has_asked, true) {
                        break;
                    }
                    socket.ping();
                }
                // The answers under way are still given.
                () = until(&mut shutdown), if under_way.is_empty() && answers.is_empty() => {
                    socket.close(CloseCode::Away, "the server stops");
                }
            }
        }
        if let Some(bytes) = socket.take() {
            delivery::send(bytes, session).await?;
        }
        session.write_response_body(None, true).await.map_err(|error| error.into_down())
    }

    /// Sets a question on its way; else what the client is told.
    fn begin(
        &self,
        text: &str,
        question: Question,
        head: &RequestHeader,
        meta: &ConnectionMeta,
        under_way: &mut JoinSet<()>,
    ) -> std::result::Result<(), String> {
        let ask = Ask::parse(text)
            .map_err(|reason| universal_socket::failed(None, GatewayError::BadRequest, Some(&reason)))?;
        let failed =
            |error, reason: Option<&str>| universal_socket::failed(ask.event_id.as_deref(), error, reason);
        if under_way.len() >= MAX_UNDER_WAY {
            let reason = format!("{MAX_UNDER_WAY} questions of this connection are under way");
            return Err(failed(GatewayError::RateLimited { retry_after_seconds: 1 }, Some(&reason)));
        }
        let proxy = self.door.connect(meta, &self.snapshots, self.clock.now());
        let proxy = proxy.ok_or_else(|| failed(GatewayError::ProviderFailed, None))?;
        under_way.spawn(question.ask(ask, head.clone(), proxy));
        Ok(())
    }

    /// The head of the requests that questions become: what the connection began with holds for each of them.
    fn question_head(&self, session: &Session, ctx: &Context) -> Result<RequestHeader> {
        let client = session.req_header();
        let mut head = RequestHeader::build("POST", client.raw_path(), Some(16))?;
        let names = &ctx.snapshot.token_headers;
        for (name, value) in &client.headers {
            let is_said_once = [header::HOST, header::USER_AGENT].contains(name) || name == "x-forwarded-for";
            if is_said_once || headers::is_gateways(name, names) {
                head.append_header(name.clone(), value.clone())?;
            }
        }
        if let Some(token) = headers::gateway_token(&client.headers, names)
            && !names.iter().any(|name| client.headers.contains_key(name))
        {
            head.insert_header("svc-aig-authorization", token)?;
        }
        head.insert_header(header::ACCEPT_ENCODING, "identity")?;
        head.insert_header(header::CONTENT_TYPE, "application/json")?;
        Ok(head)
    }
}

/// The answer to a handshake (RFC 6455 section 4.2.2).
fn accepted(request: &HeaderMap, ray: &str) -> std::result::Result<ResponseHeader, &'static str> {
    let key = headers::bytes(request, &header::SEC_WEBSOCKET_KEY);
    let is_key = STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16);
    if !is_key || headers::bytes(request, &header::SEC_WEBSOCKET_VERSION) != b"13" {
        return Err("expected a WebSocket of version 13");
    }
    let accept = STANDARD.encode(Sha1::new().chain_update(key).chain_update(KEY_SUFFIX).finalize());
    let built = || -> Result<ResponseHeader> {
        let mut head = ResponseHeader::build(101, Some(6))?;
        head.insert_header(header::UPGRADE, "websocket")?;
        head.insert_header(header::CONNECTION, "Upgrade")?;
        head.insert_header(header::SEC_WEBSOCKET_ACCEPT, accept)?;
        if let Some(protocol) = headers::subprotocol(request) {
            head.insert_header(header::SEC_WEBSOCKET_PROTOCOL, protocol)?;
        }
        head.insert_header("svc-ray", ray)?;
        Ok(head)
    };
    built().map_err(|_| "the subprotocol is no field value")
}

/// A question on its way.
struct Question {
    out: mpsc::Sender<String>,
    /// The message counts as held until it is answered.
    _held: Share,
}

impl Question {
    /// Asks, and sends what is answered.
    async fn ask(self, ask: Ask, head: RequestHeader, mut proxy: HttpSession) {
        let event_id = ask.event_id.clone();
        if let Err(failure) = self.exchange(ask, head, &mut proxy).await {
            let error = GatewayError::ProviderFailed;
            let reason = (*failure.etype() == TOO_LONG).then_some("the answer is too long for a message");
            // Only fails if the client is gone.
            let _ = self.out.send(universal_socket::failed(event_id.as_deref(), error, reason)).await;
        }
    }

    async fn exchange(&self, ask: Ask, mut head: RequestHeader, proxy: &mut HttpSession) -> Result<()> {
        if let Some(Ok(id)) = ask.event_id.as_deref().map(HeaderValue::from_str) {
            head.insert_header("svc-aig-event-id", id)?;
        }
        head.insert_header(header::CONTENT_LENGTH, ask.body.len().to_string())?;
        proxy.write_request_header(Box::new(head)).await?;
        let body = async {
            proxy.write_request_body(ask.body, true).await?;
            proxy.finish_request_body().await
        };
        let sent = body.await;
        // A question may be answered before all of it was read; else why it was not sent says more.
        proxy.read_response_header().await.or_else(|error| sent.and(Err(error)))?;
        let Some(answered) = proxy.response_header().cloned() else { return Ok(()) };
        let metadata = metadata(&answered.headers, answered.status.as_u16(), ask.event_id);
        let coding = Coding::of(headers::bytes(&answered.headers, &header::CONTENT_ENCODING));
        let coding = coding.filter(|coding| *coding != Coding::Identity);
        let media = body::media_type(headers::bytes(&answered.headers, &header::CONTENT_TYPE));
        let stream = Stream::of(media, metadata.event_id.clone()).filter(|_| coding.is_none());
        if let Some(stream) = stream {
            return self.stream(stream, &metadata, proxy).await;
        }
        let body = whole(proxy).await?;
        let body = match coding {
            Some(coding) => decompress::decode(coding, &body, DECODED).bytes.into(),
            None => body,
        };
        self.send(metadata.created(Some(&body))).await
    }

    async fn stream(&self, mut stream: Stream, metadata: &Metadata, proxy: &mut HttpSession) -> Result<()> {
        self.send(metadata.created(None)).await?;
        let mut messages = Vec::new();
        while let Some(piece) = proxy.read_response_body().await? {
            let is_short = stream.push(&piece, &mut messages);
            for message in messages.drain(..) {
                self.send(message).await?;
            }
            if !is_short {
                return Err(too_long());
            }
        }
        stream.finish(&mut messages);
        for message in messages {
            self.send(message).await?;
        }
        self.send(metadata.done()).await
    }

    async fn send(&self, message: String) -> Result<()> {
        let sent = self.out.send(message).await;
        sent.map_err(|_| {
            pingora::Error::explain(pingora::ErrorType::ConnectionClosed, "the client went away")
        })
    }
}

async fn whole(proxy: &mut HttpSession) -> Result<Bytes> {
    let mut body = Vec::new();
    while let Some(piece) = proxy.read_response_body().await? {
        if body.len() + piece.len() > MAX_ANSWER_BYTES {
            return Err(too_long());
        }
        body.extend_from_slice(&piece);
    }
    Ok(body.into())
}

fn too_long() -> Box<pingora::Error> {
    pingora::Error::new(TOO_LONG)
}

fn metadata(headers: &HeaderMap, status: u16, event_id: Option<String>) -> Metadata {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    Metadata {
        cache_status: text("svc-aig-cache-status"),
        event_id,
        log_id: text("svc-aig-log-id"),
        step: text("svc-aig-step"),
        content_type: text(header::CONTENT_TYPE.as_str()),
        status_code: Some(status),
    }
}

/// The frames of a connection.
struct Socket {
    frames: WebSocket<Pipe>,
    /// Bytes of frames that belong to no message, since they were last asked for.
    control_bytes: usize,
    is_done: bool,
}

/// Bytes that came and bytes that are to go.
#[derive(Default)]
struct Pipe {
    read: io::Cursor<Bytes>,
    written: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.read.read(buf)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            bytes => Ok(bytes),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.written.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    fn new(max_message_bytes: usize) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(max_message_bytes))
            .max_frame_size(Some(max_message_bytes));
        let frames = WebSocket::from_raw_socket(Pipe::default(), Role::Server, Some(config));
        Self { frames, control_bytes: 0, is_done: false }
    }

    /// Whether nothing more comes or goes, but for what is still to be taken.
    fn is_done(&self) -> bool {
        self.is_done && self.frames.get_ref().written.is_empty()
    }

    fn push(&mut self, bytes: Bytes) {
        // INVARIANT: all that came before was read.
        self.frames.get_mut().read = io::Cursor::new(bytes);
    }

    /// The next message that is complete.
    fn next(&mut self) -> Option<Utf8Bytes> {
        while !self.is_done {
            match self.frames.read() {
                Ok(Message::Text(text)) => return Some(text),
                Ok(Message::Binary(bytes)) => match Utf8Bytes::try_from(bytes) {
                    Ok(text) => return Some(text),
                    Err(_) => self.close(CloseCode::Unsupported, "expected text"),
                },
                Ok(Message::Ping(payload) | Message::Pong(payload)) => {
                    self.control_bytes += CONTROL_HEAD_BYTES + payload.len();
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(_)) => return None,
                Err(error) => self.refuse(&error),
            }
        }
        None
    }

    /// Ends a connection whose frames are none.
    fn refuse(&mut self, error: &tungstenite::Error) {
        match error {
            tungstenite::Error::Capacity(_) => self.close(CloseCode::Size, "the message is too long"),
            tungstenite::Error::Utf8(_) => self.close(CloseCode::Invalid, "the text is not UTF-8"),
            tungstenite::Error::Protocol(_) => self.close(CloseCode::Protocol, "expected frames of a client"),
            _ => {}
        }
        self.is_done = true;
    }

    fn send(&mut self, text: String) {
        self.written(|frames| frames.send(Message::text(text)));
    }

    fn ping(&mut self) {
        self.written(|frames| frames.send(Message::Ping(Bytes::new())));
    }

    fn close(&mut self, code: CloseCode, reason: &'static str) {
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        self.written(|frames| frames.close(Some(frame)));
        self.is_done = true;
    }

    fn written(&mut self, write: impl FnOnce(&mut WebSocket<Pipe>) -> tungstenite::Result<()>) {
        // What goes out goes into memory: it fails only if the connection is closed.
        self.is_done |= write(&mut self.frames).is_err();
    }

    /// The bytes that are to go.
    fn take(&mut self) -> Option<Bytes> {
        let written = std::mem::take(&mut self.frames.get_mut().written);
        (!written.is_empty()).then(|| written.into())
    }
}
