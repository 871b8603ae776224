//! A message to somebody's server: one POST on a connection of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use pingora::http::RequestHeader;
use pingora::upstreams::peer::HttpPeer;

use super::connections::single_connections;
use super::origin::{Origin, OriginKey};
use super::peer;

use crate::conf::UpstreamSettings;
use model::Secret;
use model::origin_url::{is_private, place_and_target};

/// How long the whole exchange may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a message goes, and what it carries.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// One that [`Webhook::check_url`] takes.
    pub url: String,
    /// Fields that show who sends it.
    pub fields: BTreeMap<String, Secret>,
    /// JSON.
    pub body: String,
    /// Whether it may be on this machine or in a private network.
    pub may_be_private: bool,
}

impl Webhook {
    /// Checks a webhook's URL: that of an origin, which may have a query.
    ///
    /// # Errors
    /// One sentence: what is missing or may not be there.
    pub fn check_url(url: &str) -> Result<(), String> {
        place_and_target(url).map(drop)
    }

    /// Sends the message. Answered with 2xx, it has arrived.
    ///
    /// # Errors
    /// One sentence: the address is private, nothing answers, or it answers with another status.
    pub async fn send(&self, settings: &UpstreamSettings, now: Duration) -> Result<(), String> {
        // Without the query, which is often what shows that somebody may send messages.
        let (url, target) = place_and_target(&self.url)?;
        match tokio::time::timeout(PATIENCE, self.exchange(&url, &target, settings, now)).await {
            Ok(Ok(200..=299)) => Ok(()),
            Ok(Ok(status)) => Err(format!("`{url}` answered with {status}")),
            Ok(Err(reason)) => Err(reason),
            Err(_) => Err(format!("`{url}` did not answer in {} s", PATIENCE.as_secs())),
        }
    }

    async fn exchange(
        &self,
        url: &str,
        target: &str,
        settings: &UpstreamSettings,
        now: Duration,
    ) -> Result<u16, String> {
        let key = OriginKey { zone: "webhook".to_owned(), url: url.to_owned(), http2: false, ca: None };
        let origin = Origin::new(key)?;
        let address = origin.address(now).await?;
        // What the name resolves to counts, not what it looks like.
        if is_private(address.ip()) && !self.may_be_private {
            return Err(format!("`{url}` is at a private address; `admin.private_webhooks` would allow it"));
        }
        let peer: HttpPeer = peer::peer(&origin, address, settings);
        let failed = |error: Box<pingora::Error>| format!("`{url}`: {}", error.etype().as_str());
        let (mut session, _) = single_connections().get_http_session(&peer).await.map_err(failed)?;
        let mut head = RequestHeader::build("POST", target.as_bytes(), None).map_err(failed)?;
        let length = self.body.len().to_string();
        let authority = origin.url.authority();
        let fields = [
            ("host", authority.as_str()),
            ("content-type", "application/json"),
            ("user-agent", "portcullis"),
            ("content-length", length.as_str()),
        ];
        let own = self.fields.iter().map(|(name, value)| (name.as_str(), value.expose()));
        for (name, value) in own.chain(fields) {
            head.insert_header(name.to_owned(), value).map_err(failed)?;
        }
        let body = Bytes::from(self.body.clone());
        peer::exchange_heads(&mut session, head, body).await.map_err(failed)?;
        Ok(session.response_header().map_or(0, |head| head.status.as_u16()))
    }
}
