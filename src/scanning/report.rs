//! Findings as events.

use crate::events::kinds::{ScanSkipped, SensitiveDataFound, SkipReason};
use crate::events::{Events, ZoneLabel};
use detection::plan::{Findings, Found};
use model::RuleId;

use super::seen::Telling;

/// The message a body belongs to, for the event.
#[derive(Clone, Debug)]
pub struct Subject {
    pub ray: String,
    /// `gateway` for a call of one.
    pub zone: String,
    /// Empty for a call of a gateway.
    pub zone_id: String,
    pub account_id: String,
    pub host: String,
    pub path: String,
}

impl Subject {
    /// A call of an AI gateway of an account.
    pub fn of_call(account: &str, ray: &str, path: &str) -> Self {
        let ZoneLabel { name, zone_id, account_id } = ZoneLabel::of_gateway(account);
        Self {
            ray: ray.to_owned(),
            zone: name.to_owned(),
            zone_id: zone_id.to_owned(),
            account_id: account_id.to_owned(),
            host: String::new(),
            path: path.to_owned(),
        }
    }

    pub fn label(&self) -> ZoneLabel<'_> {
        ZoneLabel { name: &self.zone, zone_id: &self.zone_id, account_id: &self.account_id }
    }
}

/// Emits one event for each rule that found something, and one if the scan ended early.
pub fn report(
    findings: &Findings<'_>,
    subject: &Subject,
    action: &'static str,
    truncated: bool,
    events: &Events,
) {
    report_exhausted(findings, events);
    for found in &findings.found {
        report_found(found, None, subject, action, truncated, events);
    }
}

/// Emits an event if the scan ended early.
pub(super) fn report_exhausted(findings: &Findings<'_>, events: &Events) {
    if findings.exhausted {
        events.emit(&ScanSkipped { reason: SkipReason::Exhausted });
    }
}

/// Emits what one rule found; `telling` says how often the same was found before, if that is counted.
pub(super) fn report_found(
    found: &Found<'_>,
    telling: Option<Telling>,
    subject: &Subject,
    action: &'static str,
    truncated: bool,
    events: &Events,
) {
    let Found { rule, count, offset, location, confidence, sample, payload, .. } = found;
    events.emit(&SensitiveDataFound {
        ray: &subject.ray,
        action,
        source: "dlp",
        rule_id: RuleId::derived("sensitive data rule", &rule.id).as_str(),
        rule: &rule.id,
        description: &rule.name,
        categories: &rule.categories,
        confidence: confidence.word(),
        host: &subject.host,
        path: &subject.path,
        zone: subject.label(),
        count: *count,
        offset: *offset,
        location: location.as_deref(),
        sample,
        payload: payload.as_deref(),
        fingerprint: found.fingerprint.map(u128::from_be_bytes),
        seen: telling.map(|telling| telling.count),
        first_seen: telling.map(|telling| telling.first),
        last_seen: telling.map(|telling| telling.last),
        truncated,
    });
}
