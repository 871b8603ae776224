//! A client's request while it is forwarded: its body may be in memory, in whole or in part.
//!
//! Pingora keeps 64 KiB of a body to send it again, and of a longer one nothing. This stands in for the
//! connection: it gives what is held from memory, as often as it is asked for, then what the connection still
//! has. And Pingora counts the time of an upload as silence of the origin; this counts from the end of the body.
//! All else goes to the connection.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use parking_lot::Mutex;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::Digest;
use pingora::protocols::http::custom::CustomMessageWrite;
use pingora::protocols::http::custom::server::Session as CustomSession;
use pingora::protocols::http::{HttpTask, ServerSession};
use pingora::protocols::l4::socket::SocketAddr;
use pingora::proxy::Session;
use pingora::{Error, ErrorType, Result};
use tokio_stream::Stream;

use super::held_bodies::Share;
use crate::clock::{Clock, Stopwatch};

/// Where the connection is put once it is no longer stood in for.
pub(super) type Slot = Arc<Mutex<Option<ServerSession>>>;

struct ForwardedSession {
    connection: ServerSession,
    slot: Slot,
    /// If `None`, the connection keeps what may have to be sent again.
    held: Option<InMemory>,
    /// Whether it asks for a WebSocket and has no answer yet.
    opens: bool,
    /// Whether the framework knows that the body has ended.
    is_over: bool,
    /// Whether the body cannot be sent again, because more was read than is held or an answer has begun.
    has_read_on: bool,
    patience: AnswerTimeout,
}

/// What is in memory of a body, at least a byte.
pub(super) struct InMemory {
    pub(super) bytes: Bytes,
    /// Whether the connection has no more of it.
    pub(super) is_whole: bool,
    /// Counts the bytes as long as they are kept.
    pub(super) share: Share,
}

/// How long an origin may be silent once it has the whole request.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerTimeout {
    clock: Clock,
    limit: Duration,
    /// Since the end of the body, or the last piece of the answer.
    silent: Option<Stopwatch>,
}

impl AnswerTimeout {
    pub(super) fn new(clock: Clock, limit: Duration) -> Self {
        Self { clock, limit, silent: None }
    }

    fn left(&mut self) -> Duration {
        let silent = self.silent.get_or_insert_with(|| self.clock.start());
        self.limit.saturating_sub(silent.elapsed())
    }
}

/// Times that a worker turns to what else it has to do, so that pieces of a body are written.
const YIELDS: usize = 3;
/// An origin that said nothing for too long.
pub(super) const ORIGIN_SILENT: ErrorType = ErrorType::Custom("OriginSilent");

/// Lets a session give its body from memory.
pub(super) fn begin(
    session: &mut Session,
    held: Option<InMemory>,
    opens: bool,
    patience: AnswerTimeout,
) -> Slot {
    let slot = Slot::default();
    let connection = std::mem::replace(&mut *session.downstream_session, nobody());
    let forwarded = ForwardedSession {
        connection,
        slot: Arc::clone(&slot),
        held,
        opens,
        is_over: false,
        has_read_on: false,
        patience,
    };
    *session.downstream_session = ServerSession::new_custom(Box::new(forwarded));
    slot
}

/// Gives a session its connection back.
pub(super) fn end(session: &mut Session, slot: &Slot) {
    drop(std::mem::replace(&mut *session.downstream_session, nobody()));
    if let Some(connection) = slot.lock().take() {
        *session.downstream_session = connection;
    }
}

/// Stands where a connection was taken from, and is never used: whoever takes one puts one back at once.
fn nobody() -> ServerSession {
    ServerSession::new_custom(Box::new(()))
}

impl Drop for ForwardedSession {
    fn drop(&mut self) {
        *self.slot.lock() = Some(std::mem::replace(&mut self.connection, nobody()));
    }
}

impl ForwardedSession {
    /// Whether the connection has no more of the body, because all of it is in memory.
    fn is_whole(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.is_whole)
    }

    /// Lets the memory go when a final answer begins.
    fn answers(&mut self, status: http::StatusCode) {
        self.opens &= status.is_informational() && status != http::StatusCode::SWITCHING_PROTOCOLS;
        if !status.is_informational() {
            self.has_read_on = true;
            if let Some(held) = &mut self.held {
                held.bytes = Bytes::new();
                held.share.put_back(usize::MAX);
            }
        }
        self.patience.silent = None;
    }
}

#[async_trait]
impl CustomSession for ForwardedSession {
    fn req_header(&self) -> &RequestHeader {
        self.connection.req_header()
    }

    fn req_header_mut(&mut self) -> &mut RequestHeader {
        self.connection.req_header_mut()
    }

    async fn read_body_bytes(&mut self) -> Result<Option<Bytes>> {
        if self.is_whole() {
            return Ok(None);
        }
        self.has_read_on = true;
        self.connection.read_request_body().await
    }

    async fn drain_request_body(&mut self) -> Result<()> {
        self.connection.drain_request_body().await
    }

    async fn write_response_header(&mut self, head: Box<ResponseHeader>, _: bool) -> Result<()> {
        self.answers(head.status);
        self.connection.write_response_header(head).await
    }

    async fn write_response_header_ref(&mut self, head: &ResponseHeader, _: bool) -> Result<()> {
        self.answers(head.status);
        self.connection.write_response_header_ref(head).await
    }

    async fn write_body(&mut self, data: Bytes, end: bool) -> Result<()> {
        self.patience.silent = None;
        self.connection.write_response_body(data, end).await
    }

    async fn write_trailers(&mut self, trailers: HeaderMap) -> Result<()> {
        self.connection.write_response_trailers(trailers).await
    }

    async fn response_duplex_vec(&mut self, tasks: Vec<HttpTask>) -> Result<bool> {
        for task in &tasks {
            if let HttpTask::Header(head, _) = task {
                self.answers(head.status);
            }
        }
        self.patience.silent = None;
        self.connection.response_duplex_vec(tasks).await
    }

    fn set_read_timeout(&mut self, timeout: Option<Duration>) {
        self.connection.set_read_timeout(timeout);
    }

    fn get_read_timeout(&self) -> Option<Duration> {
        self.connection.get_read_timeout()
    }

    fn set_write_timeout(&mut self, timeout: Option<Duration>) {
        self.connection.set_write_timeout(timeout);
    }

    fn get_write_timeout(&self) -> Option<Duration> {
        self.connection.get_write_timeout()
    }

    fn set_total_drain_timeout(&mut self, timeout: Option<Duration>) {
        self.connection.set_total_drain_timeout(timeout);
    }

    fn get_total_drain_timeout(&self) -> Option<Duration> {
        self.connection.get_total_drain_timeout()
    }

    fn request_summary(&self) -> String {
        self.connection.request_summary()
    }

    fn response_written(&self) -> Option<&ResponseHeader> {
        self.connection.response_written()
    }

    async fn shutdown(&mut self, _: u32, _: &str) {
        self.connection.shutdown().await;
    }

    fn is_body_done(&mut self) -> bool {
        if self.connection.was_upgraded() {
            return self.connection.is_body_done();
        }
        // After the last piece the framework asks once more, and is told only then that the body has ended. If the
        // request asks for a WebSocket, it is told nothing before the answer: an answer that came first would be
        // taken for the end of the WebSocket.
        !self.opens && (self.is_whole() || self.is_over || self.connection.is_body_empty())
    }

    async fn finish(&mut self) -> Result<()> {
        self.connection.finish_body().await
    }

    fn is_body_empty(&mut self) -> bool {
        self.held.is_none() && self.connection.is_body_empty()
    }

    async fn read_body_or_idle(&mut self, no_body_expected: bool) -> Result<Option<Bytes>> {
        if self.connection.was_upgraded() {
            return self.connection.read_body_or_idle(no_body_expected).await;
        }
        if self.is_whole() {
            // The framework counts right if the whole body is here.
            return self.connection.read_body_or_idle(true).await;
        }
        if no_body_expected || self.opens {
            let left = self.patience.left();
            let idle = tokio::time::timeout(left, self.connection.read_body_or_idle(true)).await;
            return idle.unwrap_or_else(|_| Err(Error::explain(ORIGIN_SILENT, "no answer in time")));
        }
        self.has_read_on = true;
        let piece = match self.connection.is_body_done() {
            true => None,
            false => self.connection.read_body_or_idle(false).await?,
        };
        if piece.is_none() {
            // The framework does not ask again while pieces wait to be written: then nobody would count the
            // origin's silence.
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
            self.is_over = true;
        }
        Ok(piece)
    }

    fn body_bytes_sent(&self) -> usize {
        self.connection.body_bytes_sent()
    }

    fn body_bytes_read(&self) -> usize {
        self.connection.body_bytes_read()
    }

    fn digest(&self) -> Option<&Digest> {
        self.connection.digest()
    }

    fn digest_mut(&mut self) -> Option<&mut Digest> {
        self.connection.digest_mut()
    }

    fn client_addr(&self) -> Option<&SocketAddr> {
        self.connection.client_addr()
    }

    fn server_addr(&self) -> Option<&SocketAddr> {
        self.connection.server_addr()
    }

    fn pseudo_raw_h1_request_header(&self) -> Bytes {
        self.connection.to_h1_raw()
    }

    fn enable_retry_buffering(&mut self) {
        // What is held is the buffer.
        if self.held.is_none() {
            self.connection.enable_retry_buffering();
        }
    }

    fn retry_buffer_truncated(&self) -> bool {
        if self.held.is_some() { self.has_read_on } else { self.connection.retry_buffer_truncated() }
    }

    fn get_retry_buffer(&self) -> Option<Bytes> {
        if self.opens {
            return Some(Bytes::new());
        }
        match &self.held {
            Some(held) => (!self.has_read_on).then(|| held.bytes.clone()),
            None => self.connection.get_retry_buffer(),
        }
    }

    fn is_upgrade_req(&self) -> bool {
        self.connection.is_upgrade_req()
    }

    fn was_upgraded(&self) -> bool {
        self.connection.was_upgraded()
    }

    async fn finish_custom(&mut self) -> Result<()> {
        Ok(())
    }

    // HTTP has no messages beside its body.
    fn take_custom_message_reader(
        &mut self,
    ) -> Option<Box<dyn Stream<Item = Result<Bytes>> + Unpin + Send + Sync + 'static>> {
        None
    }

    fn restore_custom_message_reader(
        &mut self,
        _: Box<dyn Stream<Item = Result<Bytes>> + Unpin + Send + Sync + 'static>,
    ) -> Result<()> {
        Ok(())
    }

    fn take_custom_message_writer(&mut self) -> Option<Box<dyn CustomMessageWrite>> {
        None
    }

    fn restore_custom_message_writer(&mut self, _: Box<dyn CustomMessageWrite>) -> Result<()> {
        Ok(())
    }
}
