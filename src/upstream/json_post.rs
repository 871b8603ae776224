//! One JSON text sent to a place, and the whole answer with its times.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::connectors::http::Connector;
use pingora::http::RequestHeader;

use super::origin::{Origin, OriginKey};
use super::peer;
use crate::clock::Clock;
use crate::conf::UpstreamSettings;

/// Longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Where texts are sent, each on a connection of its own.
pub struct JsonPost {
    origin: Arc<Origin>,
    target: String,
    clock: Clock,
}

/// What came back.
pub struct PostAnswer {
    pub status: u16,
    pub fields: HeaderMap,
    pub body: Vec<u8>,
    /// From the first byte that was sent to the first byte of the body.
    pub first_byte: Duration,
    /// To the last one.
    pub whole: Duration,
}

impl JsonPost {
    /// To a target at the place of a URL.
    ///
    /// # Errors
    /// One sentence if the URL is none.
    pub fn to(url: &str, target: String, clock: Clock) -> Result<Self, String> {
        let key = OriginKey { zone: "json post".to_owned(), url: url.to_owned(), http2: false, ca: None };
        Ok(Self { origin: Origin::new(key)?, target, clock })
    }

    /// Host and port of the place.
    pub fn authority(&self) -> String {
        self.origin.url.authority()
    }

    /// Sends a text with further fields; `Host` among them takes the place of the usual one.
    ///
    /// # Errors
    /// One sentence if there is no whole answer in time.
    pub async fn send(
        &self,
        body: String,
        fields: Vec<(HeaderName, HeaderValue)>,
        patience: Duration,
    ) -> Result<PostAnswer, String> {
        let place = self.authority();
        let exchanged = tokio::time::timeout(patience, self.exchange(body, fields)).await;
        let exchanged =
            exchanged.map_err(|_| format!("`{place}` did not answer in {} s", patience.as_secs()))?;
        exchanged.map_err(|error| {
            let why =
                error.context.as_ref().map_or_else(|| error.etype().as_str(), |context| context.as_str());
            format!("`{place}` cannot be asked: {why}")
        })
    }

    async fn exchange(
        &self,
        body: String,
        fields: Vec<(HeaderName, HeaderValue)>,
    ) -> pingora::Result<PostAnswer> {
        let failed = |reason: String| pingora::Error::explain(pingora::ErrorType::ConnectError, reason);
        let mut head = RequestHeader::build("POST", self.target.as_bytes(), None)?;
        head.insert_header(header::HOST, self.authority())?;
        head.insert_header(header::CONTENT_TYPE, "application/json")?;
        head.insert_header(header::CONTENT_LENGTH, body.len().to_string())?;
        head.insert_header(header::USER_AGENT, "portcullis")?;
        for (name, value) in fields {
            head.insert_header(name, value)?;
        }
        let address = self.origin.address(self.clock.unix()).await.map_err(failed)?;
        let peer = peer::peer(&self.origin, address, &UpstreamSettings::default());
        let (mut session, _) = Connector::new(None).get_http_session(&peer).await?;
        let begun = self.clock.start();
        peer::exchange_heads(&mut session, head, body.into()).await?;
        let answered = session.response_header().ok_or_else(|| failed("there is no answer".to_owned()))?;
        let (status, fields) = (answered.status.as_u16(), answered.headers.clone());
        let (mut whole, mut first_byte) = (Vec::new(), None);
        while let Some(piece) = session.read_response_body().await? {
            first_byte.get_or_insert_with(|| begun.elapsed());
            whole.extend_from_slice(&piece);
            if whole.len() > MAX_ANSWER_BYTES {
                return Err(failed(format!("the answer is longer than {} MiB", MAX_ANSWER_BYTES >> 20)));
            }
        }
        let end = begun.elapsed();
        Ok(PostAnswer { status, fields, body: whole, first_byte: first_byte.unwrap_or(end), whole: end })
    }
}
