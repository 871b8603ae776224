//! Calls without an end of their own: WebSockets of providers, and event streams of servers of tools. They go on for as
//! long as their caller would be let in.

use std::time::Duration;

use pingora::Result;

use super::call::Call;
use super::context::Context;
use super::refusal::Refusal;
use super::{Edge, refuse};
use crate::ai::Gateways;
use ::gateway::answer::GatewayError;

impl Edge {
    /// Passes no more of a call on whose caller would not be let in again: its token was revoked, replaced or has expired,
    /// or its gateway or server of tools was deleted. The answers of providers end by themselves and are not cut off.
    pub(super) fn check_caller(&self, ctx: &mut Context) -> Result<()> {
        let is_upgraded = ctx.origin_status == 101;
        let Some(call) = ctx.call().filter(|call| is_upgraded || call.is_stream_of_tools()) else {
            return Ok(());
        };
        if is_let_in(&self.snapshots.load().gateways, call, self.clock.unix()) {
            return Ok(());
        }
        ctx.reason = Some("the caller is no longer let in".to_owned());
        refuse(ctx, Refusal::Gateway(GatewayError::Unauthorized))
    }
}

/// Whether the caller of a call would still be let in.
fn is_let_in(gateways: &Gateways, call: &Call, now: Duration) -> bool {
    let before = &call.gateway;
    let gateway = gateways.by_account.get(&before.account).and_then(|of| of.get(&before.id));
    let Some(gateway) = gateway else { return false };
    if call.mcp.as_ref().is_some_and(|asked| !gateway.mcp_servers.contains_key(&asked.server.name)) {
        return false;
    }
    let Some(id) = call.token.as_ref().filter(|_| gateway.authentication) else {
        return !gateway.authentication;
    };
    let hash = before.tokens.iter().find(|token| token.id == *id).map(|token| &token.hash);
    gateway.tokens.iter().any(|token| token.id == *id && Some(&token.hash) == hash && token.lasts(now))
}
