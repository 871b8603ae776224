//! Applies the settings of a zone, and those that rules set for a request: who is challenged, how long a body may be,
//! whether WebSockets are opened, how origins are reached, and what they are told of the client.

use std::sync::Arc;
use std::time::Duration;

use ::challenge::ChallengeLevel;
use expression::{Expression, PlaceSource};
use http::HeaderValue;
use model::{Action, OriginEncryption, Phase, RulesetKind, SecurityLevel, TrafficSettings};
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;

use super::caching::device::{self, DeviceType};
use super::context::{Context, Route};
use super::edge::Edge;
use super::refusal::Refusal;
use super::refuse;
use super::{field_edits, headers};
use crate::conf::OriginScheme;
use crate::ruleset::{Outcome, RuleReference, RuleSource, ToldRule};
use crate::snapshot::{CompiledZone, Snapshot};

/// The country of an address that no database knows.
const UNKNOWN_COUNTRY: &str = "XX";

impl Context {
    /// A setting of the request: what rules have set, else what its zone has.
    pub(super) fn setting<T>(&self, read: impl Fn(&TrafficSettings) -> Option<T>) -> Option<T> {
        let by_rule = self.decisions.settings.as_deref().and_then(&read);
        by_rule.or_else(|| match &self.route {
            Route::Zone(zone) => read(&zone.source.traffic),
            Route::Gateway(_) | Route::Names | Route::Unknown => None,
        })
    }

    /// How long an origin may be silent.
    pub(super) fn read_timeout(&self) -> Duration {
        self.setting(TrafficSettings::read_timeout).unwrap_or(self.snapshot.upstream.read_timeout)
    }
}

/// Refuses a request whose body is announced to be longer than its zone takes.
pub(super) fn admit_upload(session: &Session, ctx: &mut Context) -> Result<()> {
    let announced = headers::content_length(&session.req_header().headers);
    match (announced, ctx.setting(TrafficSettings::max_upload_bytes)) {
        (Some(announced), Some(most)) if announced > most => refuse(ctx, Refusal::UploadTooLong),
        _ => Ok(()),
    }
}

/// Counts a piece of a body on its way to an origin, which is cut where it is longer than its zone takes.
pub(super) fn count_upload(bytes: usize, ctx: &mut Context) -> Result<()> {
    let Some(most) = ctx.setting(TrafficSettings::max_upload_bytes) else { return Ok(()) };
    ctx.uploaded_bytes = ctx.uploaded_bytes.saturating_add(bytes as u64);
    if ctx.uploaded_bytes > most {
        // The framework ends a request at once only for errors of its client.
        return refuse(ctx, Refusal::UploadTooLong).map_err(|error: Box<pingora::Error>| error.into_down());
    }
    Ok(())
}

/// Challenges a client that has no clearance, if its zone is under attack.
pub(super) fn challenge_all(ctx: &mut Context) -> Result<()> {
    let level = ChallengeLevel::Managed;
    if ctx.setting(|settings| settings.security_level) != Some(SecurityLevel::UnderAttack) {
        return Ok(());
    }
    if Some(level) <= ctx.decisions.passed.by_zone {
        ctx.decisions.passed.is_used = true;
        return Ok(());
    }
    let source = Arc::new(RuleSource {
        kind: RulesetKind::Zone,
        ruleset: "settings".to_owned(),
        id: "security_level".to_owned(),
        reference: "security_level".to_owned(),
        description: "The zone is under attack".to_owned(),
    });
    ctx.verdict.outcome = Outcome::Challenged { rule: RuleReference::of_entry_point(&source), level };
    ctx.decisions.told.push(ToldRule {
        source,
        phase: Phase::HttpConfigSettings,
        action: Action::ManagedChallenge,
        expression: Expression::everything(),
    });
    refuse(ctx, Refusal::Challenge { level, for_request: false })
}

/// Tells an origin what the settings say of its client.
pub(super) fn tell_origin(request: &mut RequestHeader, ctx: &Context) -> Result<()> {
    if ctx.setting(|settings| settings.ip_geolocation) == Some(true) {
        let country = ctx.snapshot.geo.find(ctx.client).country;
        let country = country.and_then(|country| HeaderValue::try_from(country).ok());
        let country = country.unwrap_or(HeaderValue::from_static(UNKNOWN_COUNTRY));
        field_edits::tell(request, "svc-ipcountry", country)?;
    }
    if device::is_keyed(ctx.decisions.cache.cache_key.as_ref()) {
        let word = DeviceType::of(&request.headers).word();
        field_edits::tell(request, device::FIELD, HeaderValue::from_static(word))?;
    }
    if ctx.setting(|settings| settings.true_client_ip_header) == Some(true) {
        field_edits::tell(request, "true-client-ip", ctx.client_text.clone())?;
    }
    Ok(())
}

/// Whether a request for a zone goes on to origins of DNS records with TLS.
pub(super) fn encrypts(snapshot: &Snapshot, zone: &CompiledZone, ctx: &Context) -> bool {
    let by_rule = ctx.decisions.settings.as_deref().and_then(|settings| settings.ssl);
    match (by_rule.or(zone.source.traffic.ssl), snapshot.dns.origin_scheme) {
        (Some(OriginEncryption::Flexible), _) | (None, OriginScheme::Http) => false,
        (Some(OriginEncryption::OriginPull), _) | (None, OriginScheme::Https) => true,
        (Some(OriginEncryption::Strict), _) | (None, OriginScheme::AsClient) => ctx.tls,
    }
}

impl Edge {
    /// Does what can be done when all rules have said how a request is treated.
    pub(super) fn settle_traffic(&self, snapshot: &Snapshot, ctx: &mut Context) -> Result<()> {
        if ctx.is_web_socket && ctx.setting(|settings| settings.websockets) == Some(false) {
            return refuse(ctx, Refusal::NoWebSockets);
        }
        let by_rule = ctx.decisions.settings.as_deref().and_then(|settings| settings.ssl);
        if by_rule.is_some()
            && let Err(refusal) = self.site(snapshot, ctx)
        {
            return refuse(ctx, refusal);
        }
        Ok(())
    }
}
