//! Alerts: spikes of security events, told to webhooks.
//!
//! A spike is an interval of five minutes with 200 events or more whose number lies more than 3.5 standard deviations above
//! the intervals of the six hours before. A policy is silent for two hours after it spoke.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use crate::clock::{Clock, rfc3339};
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use crate::snapshot::{Snapshot, SnapshotHandle};
use crate::upstream::webhook::Webhook;
use model::Declared;
use model::alert::AlertPolicy;
use store::{PastAlert, SecurityField, SecurityLog, SecurityOwner, SecurityQuery, StoreError};

/// How often policies are looked at.
const TICK: Duration = Duration::from_secs(60);
/// An interval that events are counted in.
const INTERVAL: Duration = Duration::from_mins(5);
/// Intervals that one is compared with.
const COMPARED: u64 = 71;
/// How long a policy is silent after it spoke.
const SILENCE: Duration = Duration::from_hours(2);
/// Fewest events of a spike.
const LEAST: u64 = 200;
/// Standard deviations above the mean.
const DEVIATIONS: f64 = 3.5;
/// The header that a webhook's secret is sent in.
pub const SECRET_HEADER: &str = "svc-webhook-auth";

/// Looks at policies for ever.
pub async fn run(
    handle: SnapshotHandle,
    log: Arc<Mutex<SecurityLog>>,
    may_be_private: bool,
    events: Events,
    clock: Clock,
) {
    let mut tick = tokio::time::interval(TICK);
    loop {
        tick.tick().await;
        let snapshot = handle.load();
        for policy in snapshot.resources.alerts.values().filter(|policy| policy.enabled) {
            let outcome = look(&snapshot, policy, &log, may_be_private, clock).await;
            if let Err(error) = outcome {
                events.emit(&ServiceFailed { service: "alerts", error });
            }
        }
    }
}

/// Looks at one policy, and tells its webhooks if there is a spike.
async fn look(
    snapshot: &Snapshot,
    policy: &Declared<AlertPolicy>,
    log: &Arc<Mutex<SecurityLog>>,
    may_be_private: bool,
    clock: Clock,
) -> Result<(), String> {
    let now = clock.unix();
    let query = query(policy, now);
    let (reader, id) = (Arc::clone(log), policy.id.clone());
    let silent_since = rfc3339(clock.now() - SILENCE);
    let counts = move || -> Result<Option<Vec<u64>>, StoreError> {
        let log = reader.lock();
        if log.alerted_since(&id, &silent_since)? {
            return Ok(None);
        }
        log.per_interval(&query, INTERVAL.as_secs(), now.as_secs() / INTERVAL.as_secs(), COMPARED + 1)
            .map(Some)
    };
    let counts = tokio::task::spawn_blocking(counts).await.map_err(|error| error.to_string())?;
    let Some(counts) = counts.map_err(|error| error.to_string())? else { return Ok(()) };
    let Some(spike) = spike(&counts) else { return Ok(()) };
    let text = format!(
        "{}: {} security events in five minutes, where {:.1} are usual",
        policy.name, spike.events, spike.mean
    );
    let mut delivered = Vec::new();
    let mut failed = Vec::new();
    for id in &policy.webhooks {
        let Some(webhook) = snapshot.resources.webhooks.get(id) else { continue };
        let message = json!({
            "name": policy.name,
            "text": text,
            "data": {"events": spike.events, "mean": spike.mean, "deviations": spike.deviations,
                "zones": policy.zones, "sources": policy.sources},
            "ts": now.as_secs(),
            "account_id": policy.account,
            "policy_id": policy.id,
            "policy_name": policy.name,
            "alert_type": policy.alert_type,
            "alert_event": "ALERT_STATE_EVENT_START",
        });
        let sent = Webhook {
            url: webhook.url.clone(),
            secret: webhook.secret.clone().map(|secret| (SECRET_HEADER, secret)),
            body: message.to_string(),
            may_be_private,
        };
        match sent.send(&snapshot.upstream, now).await {
            Ok(()) => delivered.push(webhook.name.clone()),
            Err(reason) => failed.push(reason),
        }
    }
    let past = PastAlert {
        policy: policy.id.clone(),
        account: policy.account.to_string(),
        at: rfc3339(clock.now()),
        text,
        delivered: delivered.join(", "),
        failed: failed.join("; "),
    };
    let writer = Arc::clone(log);
    let kept = tokio::task::spawn_blocking(move || writer.lock().alerted(&past)).await;
    kept.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

fn query(policy: &AlertPolicy, now: Duration) -> SecurityQuery {
    let since = now.saturating_sub(INTERVAL * (COMPARED as u32 + 2));
    SecurityQuery {
        owner: SecurityOwner::Account(policy.account.clone()),
        zones: policy.zones.clone(),
        any_of: policy.sources.iter().map(|source| (SecurityField::Source, source.clone())).collect(),
        since: Some(rfc3339(std::time::UNIX_EPOCH + since)),
        ..SecurityQuery::default()
    }
}

/// An interval that stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spike {
    events: u64,
    mean: f64,
    /// Standard deviations above the mean; the greatest number if all others are equal.
    deviations: f64,
}

/// Whether the last of the intervals stands out from those before it.
#[expect(clippy::cast_precision_loss, reason = "numbers of events are small")]
fn spike(counts: &[u64]) -> Option<Spike> {
    let (last, before) = counts.split_last()?;
    if *last < LEAST || before.is_empty() {
        return None;
    }
    let of = |sum: f64| sum / before.len() as f64;
    let mean = of(before.iter().map(|count| *count as f64).sum());
    let deviation = of(before.iter().map(|count| (*count as f64 - mean).powi(2)).sum()).sqrt();
    let above = *last as f64 - mean;
    let deviations = if deviation > 0.0 { above / deviation } else { f64::MAX };
    (above > 0.0 && deviations > DEVIATIONS).then_some(Spike { events: *last, mean, deviations })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_stands_out_and_is_no_small_number() {
        let with = |before: &[u64], last: u64| {
            let mut counts = vec![0; 71 - before.len()];
            counts.extend(before);
            counts.push(last);
            spike(&counts)
        };
        assert!(with(&[], 200).is_some_and(|spike| spike.events == 200 && spike.deviations > 1e9));
        assert_eq!(with(&[], 199), None);
        // What is always so is no spike, however much it is.
        let steady: Vec<u64> = (0..71).map(|nth| 1_000 + nth % 10).collect();
        assert_eq!(with(&steady, 1_009), None);
        assert!(with(&steady, 1_020).is_some());
        // A second one beside a first is less of one.
        assert!(with(&[500], 500).is_some());
        assert_eq!(with(&[500; 8], 500), None);
        assert_eq!(spike(&[]), None);
    }
}
