//! Rules reached their threshold, or refused a request by themselves.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::events::{Event, Level, Metrics, ZoneLabel};
use model::security_record::Contribution;
use model::{Phase, SecurityRecord};

/// In the field names of security event logs.
#[derive(Debug, Serialize)]
pub struct SecurityEvent<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    #[serde(rename = "Action")]
    pub action: &'static str,
    #[serde(rename = "Source")]
    pub source: &'static str,
    #[serde(rename = "RulesetID")]
    pub ruleset_id: &'a str,
    #[serde(rename = "RuleID")]
    pub rule_id: &'a str,
    #[serde(rename = "Ref")]
    pub reference: &'a str,
    #[serde(rename = "Description")]
    pub description: String,
    #[serde(rename = "ClientIP")]
    pub client: &'a str,
    #[serde(rename = "ClientRequestMethod")]
    pub method: &'a str,
    #[serde(rename = "ClientRequestHost")]
    pub host: &'a str,
    #[serde(rename = "ClientRequestPath")]
    pub path: &'a str,
    #[serde(rename = "ClientRequestQuery")]
    pub query: &'a str,
    #[serde(rename = "ClientRequestProtocol")]
    pub protocol: &'a str,
    #[serde(rename = "ClientRequestUserAgent")]
    pub user_agent: &'a str,
    #[serde(rename = "EdgeResponseStatus")]
    pub status: u16,
    pub zone: ZoneLabel<'a>,
    pub score: i64,
    /// What the expression of the rule saw of the request, if people wrote it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The rules that made up the score.
    pub contributions: Vec<Contribution>,
}

/// Most rules that a stored event names.
const STORED_CONTRIBUTIONS: usize = 50;

/// What people call a source.
fn service(source: &str) -> &'static str {
    let mut sources = Phase::ALL.into_iter().map(Phase::source);
    sources.find(|(word, _)| *word == source).map_or("", |(_, service)| service)
}

impl Event for SecurityEvent<'_> {
    const NAME: &'static str = "security_event";
    const MESSAGE: &'static str = "rules acted on a request";
    const LEVEL: Level = Level::Warn;

    fn record(&self) -> Option<(SecurityRecord, bool)> {
        let record = SecurityRecord {
            ray: self.ray.to_owned(),
            action: self.action.to_owned(),
            source: self.source.to_owned(),
            service: service(self.source).to_owned(),
            ruleset: self.ruleset_id.to_owned(),
            rule: self.rule_id.to_owned(),
            reference: self.reference.to_owned(),
            description: self.description.clone(),
            client: self.client.to_owned(),
            method: self.method.to_owned(),
            host: self.host.to_owned(),
            path: self.path.to_owned(),
            user_agent: self.user_agent.to_owned(),
            status: self.status,
            zone: self.zone.name.to_owned(),
            zone_id: self.zone.zone_id.to_owned(),
            account_id: self.zone.account_id.to_owned(),
            score: self.score,
            values: self.values.clone(),
            contributions: self.contributions.iter().take(STORED_CONTRIBUTIONS).cloned().collect(),
            count: 1,
            ..SecurityRecord::default()
        };
        Some((record, false))
    }

    // Counted by verdict with the request it belongs to.
    fn count(&self, _: &Metrics) {}
}
