//! Our own answers to requests: refusals, challenges, redirects, and errors of what is below us.

use std::time::Duration;

use bytes::Bytes;
use percent_encoding::utf8_percent_encode;
use pingora::http::ResponseHeader;
use pingora::proxy::{FailToProxy, Session};
use pingora::{Error, ErrorSource, ErrorType};

use super::context::{Context, Route};
use super::forwarded_session::ORIGIN_SILENT;
use super::refusal::Refusal;
use super::respond::{self, Form};
use super::{Edge, call, headers, tls_only};
use crate::admission;
use crate::ai::call_scan::ScanVerdict;
use crate::listener::{ConnectionMeta, is_multiplexed};
use crate::ruleset::actions::redirect::NOT_IN_URIS;
use crate::snapshot::Site;
use ::gateway::answer::GatewayError;

/// Longest body that is read after a refusal so that its connection can be used again.
const MAX_DRAINED_BYTES: u64 = 64 << 10;
/// Most bytes that are read after a refusal so that the client gets its answer, and how long they are waited for.
const MAX_LINGER_BYTES: usize = 16 << 20;
const DRAIN: Duration = Duration::from_secs(1);

impl Edge {
    /// Answers a request that failed, if the client still listens.
    pub(super) async fn answer(
        &self,
        session: &mut Session,
        error: &Error,
        ctx: &mut Context,
    ) -> FailToProxy {
        if let Some(Refusal::Challenge { level, for_request }) = ctx.refusal {
            self.challenges.make_page(level, for_request, session, ctx).await;
        }
        ctx.body.end(session);
        let has_bad_body =
            ConnectionMeta::of(session.digest()).is_some_and(|meta| meta.progress.has_bad_body());
        let refusal = ctx.refusal.or_else(|| match has_bad_body {
            true => Some(Refusal::BodyBrokenOff),
            false => of_error(error, ctx),
        });
        // 1xx come before an answer (RFC 9110 section 15.2); 101 is one.
        let is_answered = session
            .response_written()
            .is_some_and(|head| !head.status.is_informational() || head.status == 101);
        let Some(refusal) = refusal.filter(|_| !is_answered) else {
            if is_multiplexed(session) {
                // What was begun must not look whole. A connection of HTTP/1 is closed by the framework.
                session.as_downstream_mut().shutdown().await;
            }
            return FailToProxy { error_code: 0, can_reuse_downstream: false };
        };
        ctx.refusal = Some(refusal);
        // A body that was not read would be taken for the next request.
        let unread = !session.as_downstream_mut().is_body_done();
        let is_kept_kind = matches!(
            refusal,
            Refusal::Rules(_)
                | Refusal::Rate(_)
                | Refusal::Redirect(_)
                | Refusal::Challenge { .. }
                | Refusal::BadSolution
                | Refusal::Unauthenticated
                | Refusal::ForwardAuth(_)
                | Refusal::Gateway(_)
                | Refusal::UnknownHost
                | Refusal::NoQuery(_)
        );
        let waits = !is_multiplexed(session)
            && headers::expects_continue(session.req_header())
            && session.response_written().is_none();
        // A short body is here already, or nearly: reading it costs less than another connection.
        let drains = unread
            && !waits
            && headers::content_length(&session.req_header().headers).is_some_and(|n| n <= MAX_DRAINED_BYTES);
        // The framework closes the connection of a request that it has begun to forward.
        let keep = is_kept_kind && (!unread || drains) && !ctx.is_forwarded;
        if !keep {
            session.set_keepalive(None);
        }
        if drains {
            session.as_downstream_mut().set_close_on_response_before_downstream_finish(false);
        }
        let form = Form::of_accept(headers::bytes(&session.req_header().headers, &http::header::ACCEPT));
        let made = match ctx.whole_answer.take() {
            Some(answer) => Ok(*answer),
            None => self.own_answer(refusal, form, session, ctx),
        };
        if let Ok((header, body)) = made {
            // The client may be gone: then there is nobody to tell.
            let is_head = session.req_header().method == http::Method::HEAD;
            if session.write_response_header(Box::new(header), is_head).await.is_ok() {
                let body = (!is_head).then_some(body);
                let _ = session.write_response_body(body, true).await;
            }
        }
        // After the answer: a connection that is closed while bytes come is reset, and the answer lost with it.
        let is_drained = !unread || !waits && drained(session).await;
        if !keep && !is_multiplexed(session) {
            session.as_downstream_mut().shutdown().await;
        }
        FailToProxy { error_code: refusal.status(), can_reuse_downstream: keep && is_drained }
    }

    /// The answer to a request that is refused or could not be forwarded.
    fn own_answer(
        &self,
        refusal: Refusal,
        form: Form,
        session: &Session,
        ctx: &mut Context,
    ) -> pingora::Result<(ResponseHeader, Bytes)> {
        let (own, page) = (ctx.block_response.as_deref(), ctx.challenge_page.as_deref());
        let (mut header, mut body) = respond::refusal(refusal, &ctx.ray, form, own, page)?;
        say_why(&mut header, refusal, session, ctx);
        tls_only::tell_transports(&mut header, ctx)?;
        self.inspection.replace_own_error(session, refusal, &mut header, &mut body, ctx)?;
        Ok((header, body))
    }
}

/// Adds the fields that say why a request is refused, and what its client can do.
fn say_why(header: &mut ResponseHeader, refusal: Refusal, session: &Session, ctx: &Context) {
    if is_for_gateway(session, ctx) && !matches!(refusal, Refusal::Gateway(_)) {
        // INVARIANT: a number is a valid value.
        let _ = header.insert_header("svc-aig-error", GatewayError::BadRequest.code());
    }
    if let (Refusal::Rules(300..=399), Some(location)) = (refusal, &ctx.verdict.location) {
        let location = utf8_percent_encode(location, NOT_IN_URIS).to_string();
        // INVARIANT: printable ASCII is a valid value.
        let _ = header.insert_header(http::header::LOCATION, location);
    }
    if let (Refusal::Redirect(_), Some(location)) = (refusal, &ctx.location) {
        // INVARIANT: it is printable ASCII.
        let _ = header.insert_header(http::header::LOCATION, location.as_str());
    }
    if let (Refusal::Unauthenticated, Some(realm)) = (refusal, &ctx.realm) {
        let asks = format!("Basic realm=\"{realm}\", charset=\"UTF-8\"");
        // INVARIANT: a realm is printable ASCII without quotes.
        let _ = header.insert_header(http::header::WWW_AUTHENTICATE, asks);
    }
    if let Some(exceeded) = ctx.rate_exceeded {
        for (name, value) in headers::rate_fields(exceeded) {
            // INVARIANT: a number is a valid value.
            let _ = header.insert_header(name, value);
        }
    }
    if let Some((measure, remaining)) = ctx.exceeded {
        let (name, value) = call::remaining_field(measure, remaining);
        // INVARIANT: a number is a valid value.
        let _ = header.insert_header(name, value);
    }
    if let Some(reason) = &ctx.reason {
        let printable: String = reason.chars().filter(|c| (' '..='~').contains(c)).take(400).collect();
        // INVARIANT: printable ASCII is a valid value.
        let _ = header.insert_header("svc-aig-warning", printable);
    }
    if let Some(field) = ctx.held_back.as_ref().and_then(ScanVerdict::field) {
        // INVARIANT: ids of rules and of policies are printable ASCII.
        let _ = header.insert_header("svc-aig-dlp", field);
    }
}

/// Whether a request is for a gateway host, also if it was refused before that was looked at.
fn is_for_gateway(session: &Session, ctx: &Context) -> bool {
    let host = || {
        let named = session.req_header().headers.get(http::header::HOST)?.to_str().ok()?;
        let mut buffer = String::new();
        let host = admission::host::normal_form(named, &mut buffer).ok()?;
        Some(matches!(ctx.snapshot.sites.find(host), Some(Site::Gateway)))
    };
    matches!(ctx.route, Route::Gateway(_)) || host().unwrap_or(false)
}

/// Reads what still comes of a body, for a while; true if that was all.
async fn drained(session: &mut Session) -> bool {
    let all = async {
        let mut bytes = 0;
        while bytes < MAX_LINGER_BYTES {
            match session.as_downstream_mut().read_request_body().await {
                Ok(Some(piece)) => bytes += piece.len(),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        false
    };
    tokio::time::timeout(DRAIN, all).await.unwrap_or(false)
}

/// What an error of the connection below means; `None` if the client itself is gone.
fn of_error(error: &Error, ctx: &Context) -> Option<Refusal> {
    let gateway = matches!(ctx.route, Route::Gateway(_));
    let refusal = match (error.esource(), error.etype()) {
        (
            ErrorSource::Downstream,
            ErrorType::ReadError | ErrorType::WriteError | ErrorType::ConnectionClosed,
        ) => return None,
        (_, etype) if *etype == ORIGIN_SILENT => Refusal::OriginTimeout,
        (ErrorSource::Downstream, ErrorType::ReadTimedout) => return Some(Refusal::BodyTimeout),
        (ErrorSource::Downstream, _) => return Some(Refusal::BodyBrokenOff),
        (ErrorSource::Upstream, ErrorType::ReadTimedout | ErrorType::WriteTimedout) => Refusal::OriginTimeout,
        (
            ErrorSource::Upstream,
            ErrorType::ConnectTimedout
            | ErrorType::ConnectRefused
            | ErrorType::ConnectNoRoute
            | ErrorType::ConnectError
            | ErrorType::TLSHandshakeFailure
            | ErrorType::TLSHandshakeTimedout
            | ErrorType::InvalidCert
            | ErrorType::HandshakeError,
        ) => Refusal::OriginUnreachable,
        (ErrorSource::Upstream, _) => Refusal::OriginBroken,
        (ErrorSource::Internal | ErrorSource::Unset, _) => Refusal::Internal,
    };
    Some(if gateway { Refusal::Gateway(GatewayError::ProviderFailed) } else { refusal })
}
