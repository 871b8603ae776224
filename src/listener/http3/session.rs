//! A request of HTTP/3 as the proxy framework sees it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::http::HttpTask;
use pingora::protocols::http::custom::CustomMessageWrite;
use pingora::protocols::http::custom::server::Session as CustomSession;
use pingora::protocols::l4::socket::SocketAddr;
use pingora::protocols::tls::SslDigest;
use pingora::protocols::{Digest, SocketDigest, TimingDigest};
use pingora::{Error, ErrorType, Result};
use tokio::time::timeout;
use tokio_stream::Stream;

use super::code;
use super::request_stream::{ArrivedHead, BodyFault, RequestStream};
use super::response_stream::ResponseStream;
use crate::clock::{self, Clock};
use crate::listener::meta::{ConnectionMeta, Progress};
use http3::Http3Code;

/// Fields of HTTP/1 that no response of HTTP/3 has (RFC 9114 section 4.2).
const OF_CONNECTIONS: [HeaderName; 5] = [
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// What all requests of a connection have in common.
pub(super) struct SessionFacts {
    pub(super) meta: ConnectionMeta,
    pub(super) socket: Arc<SocketDigest>,
    pub(super) tls: Arc<SslDigest>,
    pub(super) established: SystemTime,
    pub(super) clock: Clock,
}

pub(super) struct Http3Session {
    request: RequestHeader,
    body: RequestStream,
    response: ResponseStream,
    /// The head of the answer, once it is sent.
    written: Option<Box<ResponseHeader>>,
    progress: Arc<Progress>,
    digest: Digest,
    quic: quinn::Connection,
    clock: Clock,
    read_timeout: Option<Duration>,
    total_drain_timeout: Option<Duration>,
}

impl Http3Session {
    pub(super) fn new(
        head: ArrivedHead,
        body: RequestStream,
        response: ResponseStream,
        facts: &SessionFacts,
        quic: quinn::Connection,
    ) -> Self {
        // Each request has progress of its own: there are several at once.
        let progress = Arc::new(Progress::default());
        progress.judged(head.refused.map_or(Ok(()), Err));
        let meta = ConnectionMeta { progress: Arc::clone(&progress), ..facts.meta.clone() };
        let timing = TimingDigest { established_ts: facts.established, ..TimingDigest::default() };
        let digest = Digest {
            ssl_digest: Some(Arc::clone(&facts.tls)),
            timing_digest: vec![Some(timing)],
            // INVARIANT: its response can be built.
            proxy_digest: meta.digest().ok(),
            socket_digest: Some(Arc::clone(&facts.socket)),
        };
        Self {
            request: head.request,
            body,
            response,
            written: None,
            progress,
            digest,
            quic,
            clock: facts.clock,
            read_timeout: None,
            total_drain_timeout: None,
        }
    }

    async fn read(&mut self) -> Result<Option<Bytes>> {
        let read = self.body.next_piece();
        let read = match self.read_timeout {
            None => read.await,
            Some(limit) => timeout(limit, read).await.map_err(|_| {
                Error::explain(ErrorType::ReadTimedout, "no more of the body came in time").into_down()
            })?,
        };
        read.map_err(|error| match error {
            BodyFault::Gone(error) => {
                Error::because(ErrorType::ReadError, "while reading the body", error).into_down()
            }
            BodyFault::Length => {
                self.progress.body_is_bad();
                Error::explain(ErrorType::InvalidHTTPHeader, "a body of another length than its head says")
                    .into_down()
            }
            BodyFault::Frames(error) => {
                self.quic.close(code(error), b"");
                Error::explain(ErrorType::ReadError, "frames that are not sound").into_down()
            }
        })
    }

    async fn write_head(&mut self, mut head: Box<ResponseHeader>, end: bool) -> Result<()> {
        if self.response.has_ended() || self.written.is_some() {
            return Ok(());
        }
        let is_informational = head.status.is_informational();
        if is_informational && head.status == StatusCode::SWITCHING_PROTOCOLS {
            // There is nothing to switch to (RFC 9114 section 4.5).
            return Err(Error::explain(ErrorType::InternalError, "101 over HTTP/3"));
        }
        for name in &OF_CONNECTIONS {
            head.remove_header(name);
        }
        if !is_informational {
            head.insert_header(header::DATE, clock::http_date(self.clock.now()))?;
        }
        self.response.head(head.status, &head.headers).await?;
        if is_informational {
            return Ok(());
        }
        self.written = Some(head);
        if end {
            self.response.finish();
        }
        Ok(())
    }

    async fn write_data(&mut self, data: Bytes, end: bool) -> Result<()> {
        if self.response.has_ended() {
            return Ok(());
        }
        if self.written.is_none() {
            return Err(Error::explain(ErrorType::InternalError, "a body without a head"));
        }
        if !data.is_empty() {
            self.response.data(data).await?;
        }
        if end {
            self.response.finish();
        }
        Ok(())
    }

    fn finish_response(&mut self) {
        // One without a head is reset when it is dropped.
        if self.written.is_some() {
            self.response.finish();
        }
    }
}

#[async_trait]
impl CustomSession for Http3Session {
    fn req_header(&self) -> &RequestHeader {
        &self.request
    }

    fn req_header_mut(&mut self) -> &mut RequestHeader {
        &mut self.request
    }

    async fn read_body_bytes(&mut self) -> Result<Option<Bytes>> {
        self.read().await
    }

    async fn drain_request_body(&mut self) -> Result<()> {
        let limit = self.total_drain_timeout.unwrap_or(Duration::MAX);
        let drained = timeout(limit, async {
            while self.read().await?.is_some() {}
            Ok(())
        });
        drained.await.unwrap_or_else(|_| {
            Err(Error::explain(ErrorType::ReadTimedout, "the body did not end in time").into_down())
        })
    }

    async fn write_response_header(&mut self, head: Box<ResponseHeader>, end: bool) -> Result<()> {
        self.write_head(head, end).await
    }

    async fn write_response_header_ref(&mut self, head: &ResponseHeader, end: bool) -> Result<()> {
        self.write_head(Box::new(head.clone()), end).await
    }

    async fn write_body(&mut self, data: Bytes, end: bool) -> Result<()> {
        self.write_data(data, end).await
    }

    async fn write_trailers(&mut self, trailers: HeaderMap) -> Result<()> {
        match self.response.has_ended() || self.written.is_none() {
            true => Ok(()),
            false => self.response.trailers(&trailers).await,
        }
    }

    async fn response_duplex_vec(&mut self, tasks: Vec<HttpTask>) -> Result<bool> {
        let mut is_over = false;
        for task in tasks {
            is_over |= match task {
                HttpTask::Header(head, end) => self.write_head(head, end).await.map(|()| end)?,
                HttpTask::Body(data, end) => {
                    self.write_data(data.unwrap_or_default(), false).await?;
                    end
                }
                HttpTask::UpgradedBody(..) => {
                    return Err(Error::explain(ErrorType::InternalError, "an upgraded body over HTTP/3"));
                }
                HttpTask::Trailer(Some(trailers)) => self.write_trailers(*trailers).await.map(|()| true)?,
                HttpTask::Trailer(None) | HttpTask::Done => true,
                HttpTask::Failed(error) => return Err(error),
            };
        }
        if is_over {
            self.finish_response();
        }
        Ok(is_over)
    }

    fn set_read_timeout(&mut self, timeout: Option<Duration>) {
        self.read_timeout = timeout;
    }

    fn get_read_timeout(&self) -> Option<Duration> {
        self.read_timeout
    }

    fn set_write_timeout(&mut self, timeout: Option<Duration>) {
        self.response.set_write_timeout(timeout);
    }

    fn get_write_timeout(&self) -> Option<Duration> {
        self.response.write_timeout()
    }

    fn set_total_drain_timeout(&mut self, timeout: Option<Duration>) {
        self.total_drain_timeout = timeout;
    }

    fn get_total_drain_timeout(&self) -> Option<Duration> {
        self.total_drain_timeout
    }

    fn request_summary(&self) -> String {
        let host = self.request.uri.host().unwrap_or_default();
        format!("{} {}, Host: {host}", self.request.method, self.request.uri.path())
    }

    fn response_written(&self) -> Option<&ResponseHeader> {
        self.written.as_deref()
    }

    async fn shutdown(&mut self, _: u32, _: &str) {
        self.response.reset(Http3Code::InternalError);
    }

    fn is_body_done(&mut self) -> bool {
        self.body.is_done()
    }

    async fn finish(&mut self) -> Result<()> {
        self.finish_response();
        Ok(())
    }

    fn is_body_empty(&mut self) -> bool {
        self.body.is_empty()
    }

    async fn read_body_or_idle(&mut self, no_body_expected: bool) -> Result<Option<Bytes>> {
        if no_body_expected || self.body.is_done() {
            return Err(self.response.given_up().await);
        }
        self.read().await
    }

    fn body_bytes_sent(&self) -> usize {
        self.response.sent_bytes()
    }

    fn body_bytes_read(&self) -> usize {
        self.body.given_bytes()
    }

    fn digest(&self) -> Option<&Digest> {
        Some(&self.digest)
    }

    fn digest_mut(&mut self) -> Option<&mut Digest> {
        Some(&mut self.digest)
    }

    fn client_addr(&self) -> Option<&SocketAddr> {
        self.digest.socket_digest.as_ref()?.peer_addr()
    }

    fn server_addr(&self) -> Option<&SocketAddr> {
        self.digest.socket_digest.as_ref()?.local_addr.get()?.as_ref()
    }

    fn pseudo_raw_h1_request_header(&self) -> Bytes {
        // Only subrequests of the framework ask for it, and there are none.
        Bytes::new()
    }

    fn enable_retry_buffering(&mut self) {
        self.body.keep();
    }

    fn retry_buffer_truncated(&self) -> bool {
        self.body.is_too_long_to_keep()
    }

    fn get_retry_buffer(&self) -> Option<Bytes> {
        self.body.kept()
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
