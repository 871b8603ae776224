//! Rules over requests: where the rule engine meets the connection.
//!
//! A request is judged whole before an origin is asked, whatever the length of its body and however it comes.
//! Of a body that is too long to hold, a zone refuses the request or judges the first part, as it is set.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use pingora::Result;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;

use super::block_lists::BlockLists;
use super::context::{Context, Route};
use super::facts::{AskedRequest, with_facts};
use super::held_bodies::HeldBodies;
use super::messages::MessageStream;
use super::offload::Offload;
use super::refusal::Refusal;
use super::request_body::{self, HeldEnd, HoldLimits};
use super::rule_watch::RuleWatch;
use super::{field_edits, headers, refuse, zone_traffic};
use crate::admission::Refused;
use crate::clock::Clock;
use crate::conf::BodyPolicy;
use crate::events::Events;
use crate::events::kinds::BodyUninspected;
use crate::ruleset::{Edits, Ending, EntryPoint, Outcome, Phase, Redirection, Refusing, RuleReference};
use crate::snapshot::CompiledZone;
use body::grpc;
use expression::ReadBody;
use model::TrafficSettings;
use seclang::BodyLimits;

/// A body from here on may keep rules or scanners busy for more than a millisecond: it is judged on another thread
/// while the worker goes on with other requests.
pub(super) const OFFLOADED_BYTES: usize = 16 << 10;

/// The step that has rules judge requests and responses.
pub(super) struct Inspection {
    pub(super) events: Events,
    pub(super) clock: Clock,
    pub(super) held_bodies: HeldBodies,
    pub(super) offload: Arc<Offload>,
    pub(super) block_lists: BlockLists,
    /// Requests so far.
    pub(super) judged: AtomicU64,
}

impl Inspection {
    /// Has the rules of all phases judge a request.
    pub(super) async fn inspect_request(
        &self,
        zone: &Arc<CompiledZone>,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let received = self.clock.unix();
        for phase in Phase::ALL.into_iter().filter(|phase| !phase.is_of_response()) {
            match phase {
                // Rules have set what they set.
                Phase::HttpRequestFirewallCustom => zone_traffic::admit_upload(session, ctx)?,
                // Custom rules come first, so that who may not come at all solves nothing.
                Phase::HttpRatelimit => zone_traffic::challenge_all(ctx)?,
                _ => {}
            }
            let Some(entry_point) = zone.entry_points.of(phase) else { continue };
            if entry_point.reads_body() && ctx.read_body.is_none() {
                self.read_body(session, ctx).await?;
            }
            match phase {
                Phase::HttpRequestFirewallManaged => {
                    self.managed_rules(zone, received, session, ctx).await?;
                }
                _ => self.own_rules(phase, zone, received, session, ctx).await?,
            }
        }
        // Of a stream the rules are asked again for each message.
        if ctx.messages.is_none() {
            ctx.read_body = None;
        }
        Ok(())
    }

    /// Judges a request by the rules that people wrote for a phase of the zone; on another thread if they ask for a body
    /// that is long.
    async fn own_rules(
        &self,
        phase: Phase,
        zone: &Arc<CompiledZone>,
        received: Duration,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let Some(entry_point) = zone.entry_points.of(phase) else { return Ok(()) };
        let mut decisions = std::mem::take(&mut ctx.decisions);
        // INVARIANT: what `execute` rules run in these phases is walked as well.
        let ending = match long_body(entry_point, ctx) {
            None => {
                let ending = with_facts(session.req_header(), None, received, ctx, |facts| {
                    entry_point.walk(phase, facts, &mut decisions, |_, _, _| ())
                });
                ctx.decisions = decisions;
                ending
            }
            Some(bytes) => {
                let zone = Arc::clone(zone);
                let asked = AskedRequest::new(session.req_header(), received, ctx);
                let away = self.offload.run(bytes, move || {
                    let entry_point = zone.entry_points.of(phase);
                    let ending =
                        asked.ask(|facts| entry_point?.walk(phase, facts, &mut decisions, |_, _, _| ()));
                    (ending, decisions)
                });
                // Whoever fails to judge a request must not let it pass.
                let Some((ending, decisions)) = away.await else { return refuse(ctx, Refusal::Internal) };
                ctx.decisions = decisions;
                ending
            }
        };
        walked(ending, session, ctx)
    }

    /// Begins the judgement by managed rules on another thread, because what they run for depends on a long body.
    async fn start_rules_away(
        &self,
        bytes: usize,
        zone: &Arc<CompiledZone>,
        received: Duration,
        session: &Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let zone = Arc::clone(zone);
        let asked = AskedRequest::new(session.req_header(), received, ctx);
        let limits = BodyLimits::from(&ctx.snapshot.limits);
        let mut decisions = std::mem::take(&mut ctx.decisions);
        let starting = self.away(ctx, bytes, move |watch| {
            let run = zone.entry_points.of(Phase::HttpRequestFirewallManaged).map(|entry_point| {
                asked.ask(|facts| entry_point.start_after(&mut decisions, facts, limits, watch))
            });
            (run, decisions)
        });
        let ((run, decisions), watch, spent) = starting.await?;
        ctx.decisions = decisions;
        ctx.rules = run.filter(|run| !run.is_empty());
        self.rules_ran(ctx, &watch, spent)
    }

    /// Reads the body for rules that people wrote, with its content coding undone.
    async fn read_body(&self, session: &mut Session, ctx: &mut Context) -> Result<()> {
        let (seen, is_short) = self.hold(session, ctx).await?;
        let limits = ctx.snapshot.limits;
        let read = match is_short {
            false => {
                request_body::decoded(&seen, &session.req_header().headers, &limits, &self.offload).await
            }
            true => Some(seen.clone()),
        };
        let (bytes, is_truncated) = match (read, limits.inspected_body_policy) {
            // Of a stream of messages the first is here.
            (Some(bytes), _) => (bytes, is_short || ctx.messages.is_some()),
            (None, BodyPolicy::Refuse) => return refuse(ctx, Refusal::BodyCoding),
            (None, BodyPolicy::Pass) => (seen, true),
        };
        let content_type = headers::bytes(&session.req_header().headers, &http::header::CONTENT_TYPE);
        ctx.read_body = Some(Arc::new(ReadBody::new(bytes, is_truncated, content_type)));
        Ok(())
    }

    /// Judges a request by managed rules: its head, then its body.
    async fn managed_rules(
        &self,
        zone: &Arc<CompiledZone>,
        received: Duration,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let Some(entry_point) = zone.entry_points.of(Phase::HttpRequestFirewallManaged) else {
            return Ok(());
        };
        if !zone.block_lists.is_empty() {
            let resolvers = &ctx.snapshot.dns.resolvers;
            let naming = self.block_lists.naming(ctx.client, &zone.block_lists, resolvers).await;
            ctx.decisions.listed_in = naming;
        }
        ctx.times_rules = self.samples_rules();
        match long_body(entry_point, ctx) {
            Some(bytes) => self.start_rules_away(bytes, zone, received, session, ctx).await?,
            None => {
                self.run_rules(ctx, |ctx, watch| start_rules(entry_point, received, session, ctx, watch))?
            }
        }
        if ctx.rules.is_none() {
            return Ok(());
        }
        let (seen, is_short) = self.hold(session, ctx).await?;
        self.judge_part(&seen, is_short, session, ctx).await
    }

    /// Holds the body, and gives what is seen of it and whether that is not all; refuses it as the limits say.
    async fn hold(&self, session: &mut Session, ctx: &mut Context) -> Result<(Bytes, bool)> {
        let limits = ctx.snapshot.limits;
        let mut body = std::mem::take(&mut ctx.body);
        let hold = HoldLimits {
            wants_first_part: limits.inspected_body_policy == BodyPolicy::Pass,
            may_stream: ctx.pool().is_some_and(|pool| pool.speaks_http2()),
            ..HoldLimits::of(&limits, self.clock)
        };
        let held = body.hold(session, hold, &self.held_bodies).await;
        ctx.body = body;
        let held = held?;
        self.held_bodies.record();
        let longest = ctx.setting(TrafficSettings::max_upload_bytes);
        if longest.is_some_and(|longest| held.bytes.len() as u64 > longest) {
            return refuse(ctx, Refusal::UploadTooLong);
        }
        let is_short = match (held.end, limits.inspected_body_policy) {
            (HeldEnd::TooLong, BodyPolicy::Refuse) => return refuse(ctx, Refusal::BodyTooLong),
            (HeldEnd::NoRoom, BodyPolicy::Refuse) => return refuse(ctx, Refusal::TooManyBodies),
            (HeldEnd::TooLong | HeldEnd::NoRoom, BodyPolicy::Pass) => true,
            (HeldEnd::Whole | HeldEnd::FirstMessage, _) => false,
        };
        let seen_bytes = match held.end {
            HeldEnd::FirstMessage => grpc::complete_bytes(&held.bytes),
            _ => held.bytes.len().min(limits.inspected_body.0),
        };
        // It is told once, also if it is asked for again.
        if is_short && ctx.read_body.is_none() {
            self.events.emit(&BodyUninspected { ray: &ctx.ray, inspected_bytes: seen_bytes });
        }
        if held.end == HeldEnd::FirstMessage && ctx.messages.is_none() {
            let share = self.held_bodies.share();
            ctx.messages = Some(Box::new(MessageStream::new(seen_bytes, share)));
        }
        Ok((held.bytes.slice(..seen_bytes), is_short))
    }

    /// Judges what was held of a body; `is_cut` if there is more of it that is not seen.
    pub(super) async fn judge_part(
        &self,
        seen: &Bytes,
        is_cut: bool,
        session: &Session,
        ctx: &mut Context,
    ) -> Result<()> {
        let limits = ctx.snapshot.limits;
        // What a framework undoes before it reads, rules have to see undone.
        let read = match is_cut {
            false => request_body::decoded(seen, &session.req_header().headers, &limits, &self.offload).await,
            true => Some(seen.clone()),
        };
        match (read, limits.inspected_body_policy) {
            (Some(read), _) => self.judge_body(&read, is_cut, ctx).await,
            (None, BodyPolicy::Refuse) => refuse(ctx, Refusal::BodyCoding),
            (None, BodyPolicy::Pass) => {
                self.events.emit(&BodyUninspected { ray: &ctx.ray, inspected_bytes: 0 });
                self.judge_body(seen, true, ctx).await
            }
        }
    }

    /// Judges a body; `is_cut` if there is more of it.
    async fn judge_body(&self, body: &Bytes, is_cut: bool, ctx: &mut Context) -> Result<()> {
        if body.len() > OFFLOADED_BYTES {
            let body = body.clone();
            self.offload_rules(ctx, body.len(), move |rules, watch| rules.body(&body, is_cut, watch)).await?;
        } else {
            self.run_rules(ctx, |ctx, watch| {
                if let Some(rules) = &mut ctx.rules {
                    rules.body(body, is_cut, watch);
                }
            })?;
        }
        let has_too_many = crate::ruleset::Run::has_too_many_arguments;
        match ctx.snapshot.limits.inspected_body_policy {
            _ if !ctx.rules.as_ref().is_some_and(has_too_many) => Ok(()),
            BodyPolicy::Refuse => refuse(ctx, Refusal::TooManyArguments),
            BodyPolicy::Pass => {
                self.events.emit(&BodyUninspected { ray: &ctx.ray, inspected_bytes: body.len() });
                Ok(())
            }
        }
    }

    /// Ends the request if the rules refused it.
    pub(super) fn decide(&self, ctx: &mut Context) -> Result<()> {
        let Some(rules) = ctx.rules.as_ref().filter(|rules| rules.is_blocked()) else { return Ok(()) };
        ctx.verdict = rules.verdict();
        match ctx.verdict.outcome {
            Outcome::Blocked { status, .. } => refuse(ctx, Refusal::Rules(status)),
            Outcome::Challenged { level, .. } => refuse(ctx, Refusal::Challenge { level, for_request: true }),
            Outcome::Pass | Outcome::Logged { .. } => Ok(()),
        }
    }

    /// Does what rules change of the header fields of a response.
    pub(super) fn edit_response(
        &self,
        session: &Session,
        response: &mut ResponseHeader,
        ctx: &mut Context,
    ) -> Result<()> {
        // INVARIANT: no rule of this phase ends a request.
        self.walk_response(Phase::HttpResponseHeadersTransform, session, response, ctx);
        let edits = std::mem::take(&mut ctx.decisions.edits);
        field_edits::edit_response(response, &edits.fields)
    }

    /// Takes a response past the rules of a phase.
    pub(super) fn walk_response(
        &self,
        phase: Phase,
        session: &Session,
        response: &ResponseHeader,
        ctx: &mut Context,
    ) -> Option<Ending> {
        let Route::Zone(zone) = &ctx.route else { return None };
        zone.entry_points.of(phase)?;
        let zone = Arc::clone(zone);
        let mut decisions = std::mem::take(&mut ctx.decisions);
        let ending = with_facts(session.req_header(), Some(response), self.clock.unix(), ctx, |facts| {
            zone.entry_points.of(phase)?.walk(phase, facts, &mut decisions, |_, _, _| ())
        });
        ctx.decisions = decisions;
        ending
    }

    /// Counts what is counted by the answer of a request.
    pub(super) fn settle_rates(&self, session: &Session, answer: Option<&ResponseHeader>, ctx: &mut Context) {
        if ctx.decisions.pending.is_empty() {
            return;
        }
        let (pending, now) = (std::mem::take(&mut ctx.decisions.pending), self.clock.unix());
        if answer.is_none() {
            // Who does not wait for the answer has asked the origin all the same.
            let reached_origin = ctx.is_forwarded;
            return pending.into_iter().for_each(|pending| pending.settle_unanswered(reached_origin, now));
        }
        let reached_origin = ctx.origin_status != 0;
        with_facts(session.req_header(), answer, now, ctx, |facts| {
            pending.into_iter().for_each(|pending| pending.settle(facts, reached_origin, now));
        });
    }
}

/// The length of a body that keeps a worker too long, if rules ask for it.
fn long_body(entry_point: &EntryPoint, ctx: &Context) -> Option<usize> {
    let bytes = ctx.read_body.as_ref().filter(|_| entry_point.reads_body())?.len();
    (bytes > OFFLOADED_BYTES).then_some(bytes)
}

/// What rules did with a request in a phase.
fn walked(ending: Option<Ending>, session: &mut Session, ctx: &mut Context) -> Result<()> {
    let edits = std::mem::take(&mut ctx.decisions.edits);
    let Refusing { source, response, exceeded } = match ending {
        None => return edit_request(edits, session, ctx),
        Some(Ending::Redirected(Redirection { status, location })) => {
            let refusal = if location.is_some() { Refusal::Redirect(status) } else { Refusal::BadRedirect };
            ctx.location = location;
            return refuse(ctx, refusal);
        }
        Some(Ending::Challenged { source, level }) => {
            ctx.verdict.outcome = Outcome::Challenged { rule: RuleReference::of_entry_point(&source), level };
            return refuse(ctx, Refusal::Challenge { level, for_request: false });
        }
        Some(Ending::Refused(refusing)) => refusing,
        // INVARIANT: no rule of these phases serves an error.
        Some(Ending::Served(_)) => return Ok(()),
    };
    let status = response.as_ref().map(|response| response.status_code);
    let status = status.unwrap_or(if exceeded.is_some() { 429 } else { 403 });
    ctx.verdict.outcome = Outcome::Blocked { rule: RuleReference::of_entry_point(&source), status };
    (ctx.block_response, ctx.rate_exceeded) = (response, exceeded);
    refuse(ctx, if exceeded.is_some() { Refusal::Rate(status) } else { Refusal::Rules(status) })
}

/// Does what rules changed: the URI at once, for later rules and the origin; header fields are kept for what the origin
/// gets, so that rules judge what the client sent.
fn edit_request(edits: Edits, session: &mut Session, ctx: &mut Context) -> Result<()> {
    if edits.path.is_none() && edits.query.is_none() {
        ctx.field_edits.extend(edits.fields);
        return Ok(());
    }
    headers::origin_form(session.req_header_mut())?;
    let sent = session.req_header().raw_path().to_vec();
    let target = edits.target(&sent);
    ctx.field_edits.extend(edits.fields);
    let Some(target) = target else { return Ok(()) };
    if target.len() > ctx.snapshot.limits.request_line.0 {
        return refuse(ctx, Refusal::Admission(Refused::RequestLineTooLong));
    }
    headers::name_host(session.req_header_mut())?;
    session.req_header_mut().set_raw_path(&target)?;
    ctx.sent_target.get_or_insert(sent);
    Ok(())
}

/// Judges the head of a request, or of a message of it.
pub(super) fn start_rules(
    entry_point: &EntryPoint,
    received: Duration,
    session: &Session,
    ctx: &mut Context,
    watch: &mut RuleWatch,
) {
    let mut decisions = std::mem::take(&mut ctx.decisions);
    let limits = BodyLimits::from(&ctx.snapshot.limits);
    let run = with_facts(session.req_header(), None, received, ctx, |facts| {
        entry_point.start_after(&mut decisions, facts, limits, watch)
    });
    ctx.decisions = decisions;
    ctx.rules = (!run.is_empty()).then_some(run);
}
