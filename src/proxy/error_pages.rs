//! Pages that rules put in the place of errors, those of origins and our own.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, header};
use pingora::Result;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;

use super::context::Context;
use super::inspect::Inspection;
use super::refusal::Refusal;
use super::{headers, refuse};
use crate::ruleset::{Ending, Phase};
use model::ruleset::ErrorPage;

/// What in a page stands for the id of the request.
const RAY_TOKEN: &str = "::RAY_ID::";
/// What is said of a body, and so not of another in its place. The connection is that with the origin.
const OF_BODY: [HeaderName; 13] = [
    header::ACCEPT_RANGES,
    header::CACHE_CONTROL,
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::ETAG,
    header::EXPIRES,
    header::LAST_MODIFIED,
    header::TRAILER,
    header::TRANSFER_ENCODING,
];

/// What is sent in the place of an origin's body.
#[derive(Debug)]
pub(super) enum ErrorBody {
    Waiting(Bytes),
    Sent,
}

impl ErrorBody {
    /// What takes the place of the next piece of the body.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        match std::mem::replace(self, Self::Sent) {
            Self::Waiting(page) => Some(page),
            Self::Sent => None,
        }
    }
}

impl Inspection {
    /// Puts the page that rules have for an origin's error in the place of its body. Other header fields stay, such as
    /// what a client is to do (`www-authenticate`, `retry-after`).
    pub(super) fn replace_error(
        &self,
        session: &Session,
        response: &mut ResponseHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        let Some(page) = self.error_page(session, response, ctx) else { return Ok(()) };
        // The body filter is only called if a body follows. If none is sure to, the edge answers by itself.
        let has_body = headers::content_length(&response.headers).is_some_and(|length| length > 0);
        let body = put(&page, response, &ctx.ray)?;
        if has_body && ctx.response_hold.is_none() {
            ctx.error_body = Some(ErrorBody::Waiting(body));
            return Ok(());
        }
        response.insert_header("svc-ray", &ctx.ray)?;
        self.edit_response(session, response, ctx)?;
        let status = response.status.as_u16();
        ctx.whole_answer = Some(Box::new((response.clone(), body)));
        refuse(ctx, Refusal::ErrorPage(status))
    }

    /// Puts the page that rules have for an error of ours in its place. Answers that a rule wrote itself, challenges and
    /// what clients of the gateway read stay as they are.
    pub(super) fn replace_own_error(
        &self,
        session: &Session,
        refusal: Refusal,
        header: &mut ResponseHeader,
        body: &mut Bytes,
        ctx: &mut Context,
    ) -> Result<()> {
        let is_written = ctx.block_response.is_some()
            || matches!(refusal, Refusal::Challenge { .. } | Refusal::Gateway(_) | Refusal::ErrorPage(_));
        if is_written {
            return Ok(());
        }
        if let Some(page) = self.error_page(session, header, ctx) {
            *body = put(&page, header, &ctx.ray)?;
        }
        Ok(())
    }

    fn error_page(
        &self,
        session: &Session,
        response: &ResponseHeader,
        ctx: &mut Context,
    ) -> Option<Arc<ErrorPage>> {
        if !response.status.is_client_error() && !response.status.is_server_error() {
            return None;
        }
        match self.walk_response(Phase::HttpCustomErrors, session, response, ctx) {
            Some(Ending::Served(page)) => Some(page),
            _ => None,
        }
    }
}

/// Has a header speak of a page, and gives that.
fn put(page: &ErrorPage, header: &mut ResponseHeader, ray: &str) -> Result<Bytes> {
    headers::strip_response_connection(header);
    for name in &OF_BODY {
        header.remove_header(name);
    }
    let body = Bytes::from(page.content.replace(RAY_TOKEN, ray));
    if let Some(status) = page.status_code {
        header.set_status(status)?;
    }
    header.insert_header(header::CONTENT_TYPE, page.content_type.as_str())?;
    header.insert_header(header::CONTENT_LENGTH, body.len().to_string())?;
    header.insert_header(header::CACHE_CONTROL, "no-store")?;
    Ok(body)
}
