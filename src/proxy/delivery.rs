//! Answers that the gateway passes on itself: head, pieces, end.

use bytes::Bytes;
use http::{HeaderValue, header};
use pingora::http::ResponseHeader;
use pingora::protocols::http::client::HttpSession;
use pingora::proxy::Session;
use pingora::{Error, ErrorType, Result};

use super::context::Context;
use crate::ai::cache;

/// Fields of one connection alone (RFC 9110 section 7.6.1).
pub(super) const HOP_BY_HOP: &[&str] =
    &["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/// Sends the head of an answer.
pub(super) async fn begin(
    mut head: ResponseHeader,
    cache_status: Option<&'static str>,
    has_body: bool,
    session: &mut Session,
    ctx: &mut Context,
) -> Result<()> {
    let (elapsed, ray) = (ctx.started.elapsed(), ctx.ray.clone());
    if let Some(call) = ctx.call() {
        call.begin_answer(&mut head, elapsed)?;
    }
    if let Some(status) = cache_status {
        head.insert_header("svc-aig-cache-status", status)?;
    }
    head.insert_header("svc-ray", ray)?;
    frame(&mut head, session);
    session.write_response_header(Box::new(head), !has_body).await.map_err(|error| error.into_down())
}

/// Passes a body on piece by piece; the pieces, where they are to be kept and are not too long.
pub(super) async fn pass(
    upstream: &mut HttpSession,
    keeps: bool,
    session: &mut Session,
    ctx: &mut Context,
) -> Result<Option<Vec<Bytes>>> {
    let started = ctx.started;
    let (mut pieces, mut bytes) = (keeps.then(Vec::new), 0);
    loop {
        let piece = tokio::select! {
            piece = upstream.read_response_body() => piece.map_err(|error| error.into_up())?,
            () = gone(session) => {
                return Err(Error::explain(ErrorType::ConnectionClosed, "the client went away").into_down());
            }
        };
        let Some(piece) = piece else { break };
        if let Some(call) = ctx.call() {
            call.answer_chunk(&piece, || started.elapsed());
        }
        bytes += piece.len();
        pieces = pieces.filter(|_| bytes <= cache::MAX_ANSWER_BYTES);
        if let Some(pieces) = &mut pieces {
            pieces.push(piece.clone());
        }
        session.write_response_body(Some(piece), false).await.map_err(|error| error.into_down())?;
    }
    session.write_response_body(None, true).await.map_err(|error| error.into_down())?;
    Ok(pieces)
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

/// Ends when the client does.
pub(super) async fn gone(session: &mut Session) {
    // Bytes behind the body can only be of a next request, which comes later.
    while let Ok(Some(_)) = session.as_downstream_mut().read_body_or_idle(true).await {}
}
