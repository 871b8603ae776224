//! Attempts at a provider, until one answers well or it may not be asked again.

use std::time::Duration;

use bytes::Bytes;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::http::client::HttpSession;
use pingora::proxy::Session;
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, ErrorType, Result};

use super::call::Call;
use super::context::Context;
use super::delivery::gone;
use super::mcp::{STREAM_IDLE, is_event_stream};
use super::{Edge, outcome};
use crate::upstream::{kept_connections, peer};

/// Longest wait that a provider may ask for between two attempts.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);

/// A provider's answer that has begun.
pub(super) struct Begun {
    pub(super) upstream: HttpSession,
    pub(super) peer: HttpPeer,
}

impl Begun {
    pub(super) fn status(&self) -> u16 {
        self.upstream.response_header().map_or(502, |head| head.status.as_u16())
    }
}

/// Why there is none.
pub(super) enum Failure {
    /// The provider, in every attempt.
    Provider,
    /// The client went away.
    ClientGone,
}

impl Edge {
    /// Asks the provider until it answers well or may not be asked again.
    pub(super) async fn attempts(
        &self,
        call: &mut Call,
        head: &RequestHeader,
        body: &Bytes,
        is_last_step: bool,
        session: &mut Session,
        ctx: &mut Context,
    ) -> std::result::Result<Begun, Failure> {
        let settings = &call.gateway.settings;
        let attempts = call.options.max_attempts.unwrap_or(settings.retry_max_attempts).max(1);
        let delay = call.options.retry_delay.unwrap_or(settings.retry_delay);
        let backoff = call.options.backoff.unwrap_or(settings.retry_backoff);
        let deadline =
            call.options.request_timeout.or(Some(settings.request_timeout)).filter(|d| !d.is_zero());
        for attempt in 1..=attempts {
            call.unanswered += u32::from(std::mem::take(&mut call.is_sent));
            let is_last = attempt == attempts;
            // The last attempt of several waits as long as the upstream's own limit.
            let waits_on = is_last && is_last_step && attempts > 1;
            let deadline = deadline.filter(|_| !waits_on);
            let asked = tokio::select! {
                asked = self.ask(call, head, body, deadline, ctx) => asked,
                () = gone(session) => return Err(Failure::ClientGone),
            };
            let mut wait = backoff.wait(delay, attempt + 1);
            match asked {
                Ok(begun) => {
                    let answer = begun.upstream.response_header();
                    let retry_after = answer.and_then(may_be_repeated);
                    match retry_after {
                        Some(asked_for) if !is_last && asked_for <= MAX_RETRY_AFTER => {
                            // It refused, and bills nothing.
                            call.is_sent = false;
                            wait = wait.max(asked_for);
                        }
                        _ => return Ok(begun),
                    }
                }
                Err(_) if is_last => return Err(Failure::Provider),
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = gone(session) => return Err(Failure::ClientGone),
            }
        }
        Err(Failure::Provider)
    }

    /// One attempt, as far as the head of the answer.
    async fn ask(
        &self,
        call: &mut Call,
        head: &RequestHeader,
        body: &Bytes,
        deadline: Option<Duration>,
        ctx: &Context,
    ) -> Result<Begun> {
        let (now, settings) = (self.clock.unix(), &ctx.snapshot.upstream);
        let failed = |reason| Error::explain(ErrorType::ConnectError, reason).into_up();
        let origin =
            call.provider.pool.choose(&[], now, None).ok_or_else(|| failed("there is no address"))?;
        let begun = async {
            let address = origin.address(now).await.map_err(|_| failed("the name does not resolve"))?;
            if !call.provider.may_be_at(address.ip()) {
                return Err(failed("the address is not public"));
            }
            let peer = peer::peer(&origin, address, settings);
            let (mut upstream, _) = kept_connections().get_http_session(&peer).await?;
            upstream.set_read_timeout(Some(settings.read_timeout));
            upstream.set_write_timeout(Some(settings.read_timeout));
            call.is_sent = true;
            peer::exchange_heads(&mut upstream, head.clone(), body.clone()).await?;
            if call.mcp.is_some() && upstream.response_header().is_some_and(is_event_stream) {
                upstream.set_read_timeout(Some(STREAM_IDLE));
            }
            Ok(Begun { upstream, peer })
        };
        let asked = match deadline {
            Some(deadline) => tokio::time::timeout(deadline, begun).await.unwrap_or_else(|_| {
                Err(Error::explain(ErrorType::ReadTimedout, "no answer in time").into_up())
            }),
            None => begun.await,
        };
        match &asked {
            Ok(begun) => outcome::origin_answered(self, ctx, &origin, begun.status()),
            Err(_) => outcome::origin_failed(self, ctx, &origin, now),
        }
        asked
    }
}

/// Whether an answer says that another attempt may go well, and how long to wait before it.
fn may_be_repeated(head: &ResponseHeader) -> Option<Duration> {
    let is_passing = matches!(head.status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504 | 529);
    let number = |name: &str| head.headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    is_passing.then(|| {
        let milliseconds = number("retry-after-ms").map(Duration::from_millis);
        milliseconds.or_else(|| number("retry-after").map(Duration::from_secs)).unwrap_or_default()
    })
}
