//! What a client is sent on a request's stream.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use pingora::{Error, ErrorType, Result};
use quinn::{SendStream, WriteError};
use tokio::time::timeout;

use super::code;
use http3::Http3Code;

pub(super) struct ResponseStream {
    send: SendStream,
    has_ended: bool,
    /// Of the body, in bytes.
    sent: usize,
    /// How long the client may take nothing.
    write_timeout: Option<Duration>,
}

impl ResponseStream {
    pub(super) fn new(send: SendStream) -> Self {
        Self { send, has_ended: false, sent: 0, write_timeout: None }
    }

    pub(super) fn set_write_timeout(&mut self, timeout: Option<Duration>) {
        self.write_timeout = timeout;
    }

    pub(super) fn write_timeout(&self) -> Option<Duration> {
        self.write_timeout
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// What was sent of the body, in bytes.
    pub(super) fn sent_bytes(&self) -> usize {
        self.sent
    }

    pub(super) async fn head(&mut self, status: StatusCode, headers: &HeaderMap) -> Result<()> {
        self.write(&mut [http3::head(status, headers).into()]).await
    }

    pub(super) async fn data(&mut self, data: Bytes) -> Result<()> {
        let length = data.len();
        self.write(&mut [http3::data_head(length).into(), data]).await?;
        self.sent += length;
        Ok(())
    }

    pub(super) async fn trailers(&mut self, trailers: &HeaderMap) -> Result<()> {
        self.write(&mut [http3::fields(trailers).into()]).await?;
        self.finish();
        Ok(())
    }

    async fn write(&mut self, mut pieces: &mut [Bytes]) -> Result<()> {
        while !pieces.is_empty() {
            let written = self.send.write_chunks(pieces);
            let written = match self.write_timeout {
                None => written.await,
                Some(limit) => timeout(limit, written).await.map_err(|_| {
                    Error::explain(ErrorType::WriteTimedout, "the client takes nothing").into_down()
                })?,
            };
            let written = written.map_err(lost)?;
            pieces = pieces.get_mut(written.chunks..).unwrap_or_default();
        }
        Ok(())
    }

    /// Ends the response as a whole one.
    pub(super) fn finish(&mut self) {
        if !self.has_ended {
            // Fails if the client has stopped the stream: then nobody waits for its end.
            let _ = self.send.finish();
            self.has_ended = true;
        }
    }

    /// Ends the stream so that nobody takes what was sent for whole.
    pub(super) fn reset(&mut self, error: Http3Code) {
        if !self.has_ended {
            // Fails if the client has stopped the stream.
            let _ = self.send.reset(code(error));
            self.has_ended = true;
        }
    }

    /// Ends when the client wants no more of the stream, or is gone.
    pub(super) async fn given_up(&self) -> Box<Error> {
        match self.send.stopped().await {
            Ok(Some(_)) => Error::explain(ErrorType::ConnectionClosed, "the client stopped the stream"),
            Err(error) => Error::because(ErrorType::ConnectionClosed, "the client is gone", error),
            // All has arrived: there is nothing to give up.
            Ok(None) => std::future::pending().await,
        }
        .into_down()
    }
}

impl Drop for ResponseStream {
    fn drop(&mut self) {
        // A stream that is dropped would be ended as a whole one.
        self.reset(Http3Code::InternalError);
    }
}

fn lost(error: WriteError) -> Box<Error> {
    Error::because(ErrorType::WriteError, "while writing to the client", error).into_down()
}
