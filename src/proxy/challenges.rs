//! Challenges at the connection: what a client has passed, the page that it gets, and the solution that it sends.

use std::time::Duration;

use bytes::Bytes;
use http::header;
use pingora::Result;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::proxy::Session;

use super::context::{Context, Route};
use super::held_bodies::HeldBodies;
use super::refusal::Refusal;
use super::request_body::{HeldEnd, HoldLimits};
use super::respond::Form;
use super::{headers, refuse};
use crate::clock::Clock;
use crate::conf::ChallengeSettings;
use crate::events::Events;
use crate::ruleset::actions::challenge::action;
use crate::ruleset::{Outcome, Passed};
use crate::snapshot::CompiledZone;
use ::challenge::{
    ChallengeKeys, ChallengeLevel, ChallengePage, Clearance, ClearanceScope, Effort, FormBody,
    MAX_SOLUTION_BYTES, Puzzle, Visitor,
};
use counters::{Rate, RateCounters};

/// Where pages send their solutions, on every host of a zone with challenges.
const SOLUTION_PATH: &str = "/.well-known/svc-challenge";
/// The cookie of who passed a challenge of a rule that people wrote.
const ZONE_COOKIE: &[u8] = b"svc_clearance";
/// The cookie of who passed one of managed rules, which holds for one method and target.
const REQUEST_COOKIE: &[u8] = b"svc_clearance_request";
/// How long the latter holds from the solution on.
const REQUEST_CLEARANCE: Duration = Duration::from_mins(1);
/// Most cookies of a name that are looked at.
const MAX_COOKIES: usize = 2;
/// Longest form that a page holds, so that it can send it again.
const MAX_FORM_BYTES: usize = 1 << 20;
/// How often a network may be challenged by `managed_challenge` before more is asked of it, and how much more.
const PATIENCE: [(u64, u8); 2] = [(20, 2), (100, 4)];
const PATIENCE_PERIOD: Duration = Duration::from_mins(10);

/// The step that challenges clients.
pub(super) struct Challenges {
    install_keys: ChallengeKeys,
    events: Events,
    clock: Clock,
    held_bodies: HeldBodies,
    /// Managed challenges, by zone and network.
    issued: RateCounters,
}

impl Challenges {
    pub(super) fn new(
        install_keys: ChallengeKeys,
        events: Events,
        clock: Clock,
        held_bodies: HeldBodies,
    ) -> Self {
        Self { install_keys, events, clock, held_bodies, issued: RateCounters::default() }
    }

    fn keys<'k>(&'k self, settings: &'k ChallengeSettings) -> &'k ChallengeKeys {
        settings.keys.as_ref().unwrap_or(&self.install_keys)
    }

    fn count(&self, zone: &CompiledZone, action: &str, result: &str) {
        self.events.metrics().challenges.with_label_values(&[&zone.name, action, result]).inc();
    }

    /// Counts a request that went on because its client had passed a challenge.
    pub(super) fn count_passed(&self, ctx: &Context) {
        let Route::Zone(zone) = &ctx.route else { return };
        let passed = ctx.decisions.passed;
        let by_zone = passed.by_zone.filter(|_| passed.is_used);
        let by_request = passed.by_request.filter(|_| matches!(ctx.verdict.outcome, Outcome::Logged { .. }));
        if let Some(level) = by_zone.or(by_request) {
            self.count(zone, action(level).word(), "passed");
        }
    }

    /// Reads what the client has passed.
    pub(super) fn read_passed(&self, zone: &CompiledZone, session: &Session, ctx: &mut Context) {
        let request = session.req_header();
        let cookies = headers::bytes(&request.headers, &header::COOKIE);
        let (visitor, now) = (visitor(zone, request, ctx), self.clock.unix());
        let keys = self.keys(&ctx.snapshot.challenges);
        let passed = |name: &[u8], scope: fn(&RequestHeader) -> ClearanceScope| {
            let read = |text| Clearance::read(text, keys, &visitor, scope(request), now);
            cookies_of(cookies, name).filter_map(read).map(|clearance| clearance.level).max()
        };
        ctx.decisions.passed = Passed {
            by_zone: passed(ZONE_COOKIE, |_| ClearanceScope::ZONE),
            by_request: passed(REQUEST_COOKIE, |request| {
                ClearanceScope::request(request.method.as_str().as_bytes(), request.raw_path())
            }),
            is_used: false,
        };
    }

    /// Answers a request that brings a solution; false if it brings none.
    pub(super) async fn take_solution(
        &self,
        zone: &CompiledZone,
        session: &mut Session,
        ctx: &mut Context,
    ) -> Result<bool> {
        let request = session.req_header();
        if request.method != http::Method::POST || request.uri.path() != SOLUTION_PATH {
            return Ok(false);
        }
        let limits =
            HoldLimits { body_bytes: MAX_SOLUTION_BYTES, ..HoldLimits::of(&ctx.snapshot.limits, self.clock) };
        let mut body = std::mem::take(&mut ctx.body);
        let held = body.hold(session, limits, &self.held_bodies).await;
        ctx.body = body;
        let held = held?;
        if held.end != HeldEnd::Whole {
            return refuse(ctx, Refusal::BodyTooLong);
        }
        let settings = &ctx.snapshot.challenges;
        let (keys, now) = (self.keys(settings), self.clock.unix());
        let visitor = visitor(zone, session.req_header(), ctx);
        let Ok(puzzle) = Puzzle::solved(&held.bytes, keys, &visitor, now) else {
            self.count(zone, "unknown", "failed");
            return refuse(ctx, Refusal::BadSolution);
        };
        let of_zone = puzzle.scope == ClearanceScope::ZONE;
        let (name, clearance) = match of_zone {
            true => {
                let ttl = zone.source.challenge_ttl.map(|seconds| Duration::from_secs(seconds.into()));
                (ZONE_COOKIE, puzzle.clearance(ttl.unwrap_or(settings.clearance)))
            }
            false => {
                let expires = now + REQUEST_CLEARANCE;
                (REQUEST_COOKIE, Clearance { expires, ..puzzle.clearance(REQUEST_CLEARANCE) })
            }
        };
        let seconds = clearance.expires.saturating_sub(now).as_secs();
        // Not for other sites' pages alone: forms that those send come with no other cookies.
        let security = if ctx.tls { "; Secure; SameSite=None" } else { "; SameSite=Lax" };
        let (name, value) = (String::from_utf8_lossy(name), clearance.issue(keys, &visitor, puzzle.scope));
        let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly{security}");
        self.count(zone, action(puzzle.level).word(), "solved");
        let mut answer = ResponseHeader::build(204, Some(4))?;
        answer.insert_header(header::SET_COOKIE, cookie)?;
        answer.insert_header(header::CACHE_CONTROL, "no-store")?;
        answer.insert_header("svc-ray", &ctx.ray)?;
        session.write_response_header(Box::new(answer), true).await?;
        Ok(true)
    }

    /// Makes the page that a client gets; none if what it reads is not pages.
    pub(super) async fn make_page(
        &self,
        level: ChallengeLevel,
        for_request: bool,
        session: &mut Session,
        ctx: &mut Context,
    ) {
        let Route::Zone(zone) = &ctx.route else { return };
        let zone = std::sync::Arc::clone(zone);
        self.count(&zone, action(level).word(), "issued");
        let accept = headers::bytes(&session.req_header().headers, &header::ACCEPT);
        if Form::of_accept(accept) == Form::Json {
            return;
        }
        let form = self.form(session, ctx).await;
        let request = session.req_header();
        let content_type = headers::bytes(&request.headers, &header::CONTENT_TYPE);
        let form = match &form {
            SentForm::None => FormBody::None,
            SentForm::Lost => FormBody::Lost,
            SentForm::Held(body) => FormBody::Sent { content_type, body },
        };
        let settings = &ctx.snapshot.challenges;
        let (visitor, now) = (visitor(&zone, request, ctx), self.clock.unix());
        let effort = self.effort(level, &visitor, settings.bits, now);
        let target = ctx.sent_target.as_deref().unwrap_or(request.raw_path());
        let scope = match for_request {
            true => ClearanceScope::request(request.method.as_str().as_bytes(), target),
            false => ClearanceScope::ZONE,
        };
        // Without random numbers there is no page, and the client gets the refusal alone.
        let page = Puzzle { level, effort, issued: now, scope }
            .issue(self.keys(settings), &visitor)
            .and_then(|puzzle| {
                let (puzzle, ray) = (puzzle.as_str(), ctx.ray.as_str());
                ChallengePage { puzzle, effort, ray, solution_path: SOLUTION_PATH, form }.render()
            });
        ctx.challenge_page = page.ok().map(Box::new);
    }

    /// What is asked for: of a network that is challenged time and again, more.
    fn effort(&self, level: ChallengeLevel, visitor: &Visitor<'_>, bits: u8, now: Duration) -> Effort {
        let mut effort = Effort { bits, click: level == ChallengeLevel::Interactive };
        if level != ChallengeLevel::Managed {
            return effort;
        }
        for (limit, more) in PATIENCE {
            let key = [&visitor.network()[..], &[more], visitor.zone.as_bytes()].concat();
            let rate = Rate { limit, period: PATIENCE_PERIOD, mitigation: Duration::ZERO };
            if self.issued.count(self.issued.key(&key), rate, now, true).is_err() {
                effort = Effort { bits: bits + more, click: true };
            }
        }
        effort
    }

    /// The form that a challenged request sends, as far as its page may send it again.
    async fn form(&self, session: &mut Session, ctx: &mut Context) -> SentForm {
        if session.req_header().method != http::Method::POST {
            return SentForm::None;
        }
        let may_hold = matches!(ctx.body, super::request_body::RequestBody::Unread) || ctx.body.is_held();
        if !may_hold || !is_own_form(session.req_header()) {
            return SentForm::Lost;
        }
        let limits = HoldLimits::of(&ctx.snapshot.limits, self.clock);
        let limits = HoldLimits { body_bytes: limits.body_bytes.min(MAX_FORM_BYTES), ..limits };
        let mut body = std::mem::take(&mut ctx.body);
        let held = body.hold(session, limits, &self.held_bodies).await;
        ctx.body = body;
        match held {
            Ok(held) if held.end == HeldEnd::Whole && held.bytes.len() <= MAX_FORM_BYTES => {
                SentForm::Held(held.bytes)
            }
            _ => SentForm::Lost,
        }
    }
}

/// The form of a challenged request.
enum SentForm {
    None,
    Held(Bytes),
    Lost,
}

fn visitor<'v>(zone: &'v CompiledZone, request: &'v RequestHeader, ctx: &Context) -> Visitor<'v> {
    let user_agent = headers::bytes(&request.headers, &header::USER_AGENT);
    Visitor { zone: zone.id.as_str(), address: ctx.client, user_agent }
}

/// The values of the first cookies of a name.
fn cookies_of<'c>(cookies: &'c [u8], name: &'c [u8]) -> impl Iterator<Item = &'c [u8]> {
    headers::cookies(cookies, name).take(MAX_COOKIES)
}

/// Whether a page of this site sent a form. What another site has a browser send must not be sent again from a page of ours:
/// it would come with the cookies and the origin of this site, which tell forged requests from others.
fn is_own_form(request: &RequestHeader) -> bool {
    let field = |name: &str| request.headers.get(name).and_then(|value| value.to_str().ok());
    let authority = request.uri.authority().map(http::uri::Authority::as_str);
    let host = field("host").or(authority);
    let from = field("origin").and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    let is_same_origin = from.is_some_and(|from| host.is_some_and(|host| host.eq_ignore_ascii_case(from)))
        && field("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let is_plain = !request.headers.contains_key(header::CONTENT_ENCODING);
    is_same_origin && is_plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let found = |cookies: &str| {
            cookies_of(cookies.as_bytes(), b"svc_clearance").map(|value| value.to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(found("a=1; svc_clearance=x; b=2"), [b"x"]);
        assert_eq!(found("svc_clearance=x;svc_clearance=y; svc_clearance=z"), [b"x", b"y"]);
        for none in ["", "svc_clearance", "svc_clearance_request=x", "xsvc_clearance=x", "a=svc_clearance=x"]
        {
            assert_eq!(found(none), Vec::<Vec<u8>>::new(), "{none}");
        }
    }

    #[test]
    fn what_another_site_has_a_browser_send_is_not_sent_again() {
        let is_own = |fields: &[(&'static str, &'static str)]| {
            let mut request = RequestHeader::build("POST", b"/", None).unwrap();
            request.append_header("host", "shop.example:8080").unwrap();
            for (name, value) in fields {
                request.append_header(*name, *value).unwrap();
            }
            is_own_form(&request)
        };
        let own = ("origin", "http://shop.example:8080");
        assert!(is_own(&[own]) && is_own(&[own, ("sec-fetch-site", "same-origin")]));
        for other in [
            &[][..],
            &[("origin", "null")],
            &[("origin", "http://shop.example")],
            &[("origin", "http://evil.example")],
            &[("origin", "http://shop.example:8080.evil.example")],
            &[own, ("sec-fetch-site", "cross-site")],
            &[own, ("sec-fetch-site", "same-site")],
            &[own, ("content-encoding", "gzip")],
        ] {
            assert!(!is_own(other), "{other:?}");
        }
    }
}
