//! Calls of servers of tools (MCP): what may be asked, and what is answered instead.
//!
//! Messages pass untouched. Where tools are limited, by the gateway or by the token, a message is read before it goes on: a
//! call of another tool is answered here, as a server answers that does not have it, and lists of tools lose those that the
//! caller may not use. Nothing is kept or repeated, because a tool may have effects.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, header};
use pingora::Result;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::proxy::Session;

use super::call::Call;
use super::context::Context;
use super::delivery::AnswerSource;
use super::gateway::{CODED, keep_refused};
use super::refusal::Refusal;
use super::request_body::{self, HeldEnd};
use super::steps::StepPlan;
use super::{Edge, headers, refuse};
use crate::ai::{CompiledMcpServer, Gateway};
use ::gateway::answer::GatewayError;
use ::gateway::mcp::{self, McpBody};
use model::TokenId;

/// How long an event stream may be silent: tools take their time, and servers that only notify say nothing for long.
pub(super) const STREAM_IDLE: Duration = super::origin_timeout::UPGRADED_IDLE;

/// Told to a client of a gateway whose guardrail judges answers once they are whole.
const ENDLESS: &str = "what a server notifies of cannot be judged before it goes on";

/// What a call asks of a server of tools.
#[derive(Clone)]
pub(super) struct McpCall {
    pub(super) server: Arc<CompiledMcpServer>,
    /// The tool that it calls.
    pub(super) tool: Option<String>,
    /// Whether it asks for the list of tools and the caller may use only some of them.
    pub(super) hides_tools: bool,
}

impl McpCall {
    /// Whether the caller may use a tool.
    fn shows(&self, gateway: &Gateway, token: Option<&TokenId>, tool: &str) -> bool {
        let filters = gateway.tool_filters(&self.server, token);
        filters.iter().all(|filter| filter.allows(&self.server.name, tool))
    }
}

impl Edge {
    /// Reads what a server of tools is asked, or refuses it.
    pub(super) async fn read_mcp(
        &self,
        plan: &mut StepPlan,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let Some(server) = plan.forward.as_ref().and_then(|forward| forward.mcp_server.clone()) else {
            return refuse(ctx, Refusal::Internal);
        };
        if headers::gateway_token_in_authorization(&session.req_header().headers).is_some() {
            session.req_header_mut().remove_header(&header::AUTHORIZATION);
        }
        let mut asked = McpCall { server, tool: None, hides_tools: false };
        if !read_head(plan, &asked.server, session, ctx)? {
            plan.mcp = Some(asked);
            return Ok(());
        }
        let held = self.hold_call(session, ctx).await?;
        let gateway = Arc::clone(&plan.gateway);
        let filters = gateway.tool_filters(&asked.server, plan.token.as_ref());
        match held.end {
            HeldEnd::Whole | HeldEnd::FirstMessage => {}
            _ if filters.is_empty() => {
                plan.mcp = Some(asked);
                return Ok(());
            }
            HeldEnd::TooLong => return refuse(ctx, Refusal::BodyTooLong),
            HeldEnd::NoRoom => return refuse(ctx, Refusal::TooManyBodies),
        }
        let fields = &session.req_header().headers;
        let limits = &ctx.snapshot.limits;
        let Some(read) = request_body::decoded(&held.bytes, fields, limits, &self.offload).await else {
            return bad_request(ctx, CODED);
        };
        let body = match McpBody::read(&read, fields) {
            Ok(body) => body,
            Err(reason) => return bad_request(ctx, &reason),
        };
        if plan.gateway.judges_answers() && body.listens() {
            return bad_request(ctx, ENDLESS);
        }
        asked.tool = body.tool().map(str::to_owned);
        asked.hides_tools = body.lists_tools() && !filters.is_empty();
        if let Some(reason) = body.forbidden(&asked.server.name, &filters) {
            ctx.whole_answer = Some(Box::new(forbidden(&body, &reason, &ctx.ray)?));
            ctx.reason = Some(reason);
            if let Some(forward) = plan.forward.take() {
                let mut call = Call::new(*forward, plan.options.clone(), self.call_id(), fields);
                call.take_mcp(asked);
                keep_refused(call, &held.bytes, ctx);
            }
            return refuse(ctx, Refusal::Gateway(GatewayError::ToolForbidden));
        }
        plan.mcp = Some(asked);
        Ok(())
    }

    /// Takes the tools out of a list that its caller may not use. Inside, why the client does not get it.
    pub(super) async fn hide_tools(
        &self,
        answered: &mut ResponseHeader,
        source: &mut AnswerSource,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<std::result::Result<(), GatewayError>> {
        let Some(read) = self.read_answer(answered, source, session, ctx).await? else {
            ctx.reason = Some("the server's list of tools is too long to be read".to_owned());
            return Ok(Err(GatewayError::ProviderFailed));
        };
        let Some(call) = ctx.call() else { return Ok(Ok(())) };
        let Some(asked) = call.mcp.clone() else { return Ok(Ok(())) };
        let content_type = headers::bytes(&answered.headers, &header::CONTENT_TYPE);
        let is_shown = |tool: &str| asked.shows(&call.gateway, call.token.as_ref(), tool);
        if let Some(shown) = mcp::without_hidden_tools(content_type, &read, is_shown) {
            answered.remove_header(&header::CONTENT_ENCODING);
            answered.remove_header(&header::TRANSFER_ENCODING);
            answered.insert_header(header::CONTENT_LENGTH, shown.len())?;
            source.replace(shown.into());
        }
        Ok(Ok(()))
    }
}

/// Makes the options and the query of a call those of its server, and says whether it has a body to be read.
fn read_head(
    plan: &mut StepPlan,
    server: &CompiledMcpServer,
    session: &mut Session,
    ctx: &mut Context,
) -> Result<bool> {
    let options = &mut plan.options;
    if options.max_attempts.is_some() || options.cache_key.is_some() || options.cache_ttl.is_some() {
        options.warnings.push("calls of tools are neither kept nor repeated".to_owned());
    }
    (options.max_attempts, options.cache_key, options.cache_ttl) = (Some(1), None, Some(Duration::ZERO));
    if !server.query.is_empty() {
        if !plan.native.2.is_empty() {
            return bad_request(ctx, "the server's address has a query of its own; send none");
        }
        plan.native.2.clone_from(&server.query);
    }
    let method = session.req_header().method.clone();
    if ctx.is_web_socket {
        return bad_request(ctx, "an MCP server is not asked over a WebSocket");
    }
    let judges_answers = plan.gateway.judges_answers();
    match method {
        Method::POST | Method::DELETE => {}
        Method::GET if judges_answers => return not_allowed(ctx, ENDLESS),
        Method::GET => {}
        _ => return not_allowed(ctx, "an MCP server is asked with POST, GET and DELETE"),
    }
    if method != Method::POST && !session.is_body_empty() {
        return bad_request(ctx, "only a POST to an MCP server has a body");
    }
    Ok(method == Method::POST)
}

/// The answer to a call that is not allowed: the JSON-RPC error that a server of tools would send.
fn forbidden(body: &McpBody, reason: &str, ray: &str) -> Result<(ResponseHeader, bytes::Bytes)> {
    let text = body.refusal(reason).to_string();
    let mut head = ResponseHeader::build(200, Some(6))?;
    head.insert_header(header::CONTENT_TYPE, "application/json")?;
    head.insert_header(header::CONTENT_LENGTH, text.len())?;
    head.insert_header(header::CACHE_CONTROL, "no-store")?;
    head.insert_header("svc-ray", ray)?;
    head.insert_header("svc-aig-error", GatewayError::ToolForbidden.code().to_string())?;
    Ok((head, text.into()))
}

fn not_allowed<T>(ctx: &mut Context, reason: &str) -> Result<T> {
    ctx.reason = Some(reason.to_owned());
    refuse(ctx, Refusal::Gateway(GatewayError::MethodNotAllowed))
}

fn bad_request<T>(ctx: &mut Context, reason: &str) -> Result<T> {
    ctx.reason = Some(reason.to_owned());
    refuse(ctx, Refusal::Gateway(GatewayError::BadRequest))
}

/// Has a server answer as it is, so that its list of tools can be read.
pub(super) fn ask_plain(head: &mut RequestHeader) -> Result<()> {
    head.insert_header(header::ACCEPT_ENCODING, "identity")
}

/// Whether an answer is a stream of events.
pub(super) fn is_event_stream(head: &ResponseHeader) -> bool {
    body::is_event_stream(body::media_type(headers::bytes(&head.headers, &header::CONTENT_TYPE)))
}
