//! Queries of resolvers over HTTPS (RFC 8484).

use http::{Method, header};
use pingora::Result;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;

use super::context::{Context, Route};
use super::refusal::Refusal;
use super::request_body::{HeldEnd, HoldLimits};
use super::{Edge, headers, refuse};
use crate::names::https::{MAX_QUERY_BYTES, MEDIA_TYPE, QUERY_PATH, answer_query, query_of};

/// Why a request is no query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryRefusal {
    Path,
    Method,
    MediaType,
    Malformed,
}

impl Edge {
    /// Answers a query, or refuses the request.
    pub(super) async fn answer_query(&self, session: &mut Session, ctx: &mut Context) -> Result<()> {
        ctx.route = Route::Names;
        let request = session.req_header();
        if request.uri.path() != QUERY_PATH {
            return refuse(ctx, Refusal::NoQuery(QueryRefusal::Path));
        }
        let is_head = request.method == Method::HEAD;
        let query = match request.method {
            Method::GET | Method::HEAD => request.uri.query().and_then(query_of).map(Into::into),
            Method::POST if is_message(headers::bytes(&request.headers, &header::CONTENT_TYPE)) => {
                let limits = HoldLimits::of(&ctx.snapshot.limits, self.clock);
                let limits = HoldLimits { body_bytes: MAX_QUERY_BYTES, ..limits };
                let mut body = std::mem::take(&mut ctx.body);
                let held = body.hold(session, limits, &self.held_bodies).await;
                ctx.body = body;
                let held = held?;
                match held.end {
                    HeldEnd::Whole => Some(held.bytes),
                    HeldEnd::NoRoom => return refuse(ctx, Refusal::TooManyBodies),
                    HeldEnd::TooLong | HeldEnd::FirstMessage => return refuse(ctx, Refusal::BodyTooLong),
                }
            }
            Method::POST => return refuse(ctx, Refusal::NoQuery(QueryRefusal::MediaType)),
            _ => return refuse(ctx, Refusal::NoQuery(QueryRefusal::Method)),
        };
        let answer = query.and_then(|query| answer_query(&self.names, &query, ctx.client));
        let Some(answer) = answer else { return refuse(ctx, Refusal::NoQuery(QueryRefusal::Malformed)) };
        let mut head = ResponseHeader::build(200, Some(4))?;
        head.insert_header(header::CONTENT_TYPE, MEDIA_TYPE)?;
        head.insert_header(header::CONTENT_LENGTH, answer.message.len().to_string())?;
        head.insert_header(header::CACHE_CONTROL, format!("max-age={}", answer.max_age))?;
        head.insert_header("svc-ray", &ctx.ray)?;
        session.write_response_header(Box::new(head), is_head).await?;
        session.write_response_body((!is_head).then_some(answer.message), true).await
    }
}

/// Whether a media type is that of queries, whatever its parameters.
fn is_message(content_type: &[u8]) -> bool {
    body::media_type(content_type).eq_ignore_ascii_case(MEDIA_TYPE.as_bytes())
}
