//! Alerts, sent to webhooks and by mail. There are two kinds: spikes of security events, and parts of the interface that end
//! soon although somebody still uses them.
//!
//! A policy about spikes sends at most once in two hours, one about endings at most once in a day.

mod endings;
mod spikes;
pub mod webhook_secret;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::clock::{Clock, rfc3339};
use crate::events::Events;
use crate::events::kinds::{DeprecationDue, ServiceFailed};
use crate::old_uses::OldUses;
use crate::snapshot::{Snapshot, SnapshotHandle};
use crate::upstream::mail::Mail;
use crate::upstream::webhook::Webhook;
use endings::DueRow;
use gateway::vault::MasterKey;
use model::alert::{AlertPolicy, AlertType};
use model::{CalendarDate, Declared, Secret};
use store::{PastAlert, SecurityLog, StoreError};

/// How often policies are looked at.
const TICK: Duration = Duration::from_secs(60);
/// How long a policy is silent after it spoke.
const SILENCE: Duration = Duration::from_hours(2);
/// The same of one about endings.
const SILENCE_OF_ENDINGS: Duration = Duration::from_hours(24);
/// The header that a webhook's secret is sent in.
const SECRET_HEADER: &str = "svc-webhook-auth";

/// The field that shows a webhook who sends a message, if it has a secret.
pub fn secret_field(secret: Option<String>) -> BTreeMap<String, Secret> {
    secret.into_iter().map(|secret| (SECRET_HEADER.to_owned(), Secret::new(secret))).collect()
}

/// What policies are looked at with.
pub struct AlertInputs {
    pub log: Arc<Mutex<SecurityLog>>,
    pub old_uses: OldUses,
    /// Whether webhooks may be in private networks.
    pub may_be_private: bool,
    /// What secrets of webhooks are sealed with.
    pub secrets_key: Option<MasterKey>,
    pub events: Events,
    pub clock: Clock,
}

/// Looks at policies for ever.
pub async fn run(handle: SnapshotHandle, watched: AlertInputs) {
    let failed = |error: String| watched.events.emit(&ServiceFailed { service: "alerts", error });
    let mut told = HashSet::new();
    let mut tick = tokio::time::interval(TICK);
    loop {
        tick.tick().await;
        let snapshot = handle.load();
        let endings = match endings(&snapshot, &watched).await {
            Ok(endings) => endings,
            Err(error) => {
                failed(error);
                Vec::new()
            }
        };
        tell_of(&endings, &mut told, &watched);
        for policy in snapshot.resources.alerts.values().filter(|policy| policy.enabled) {
            if let Err(error) = look(&snapshot, policy, &endings, &watched).await {
                failed(error);
            }
        }
    }
}

/// Runs what waits for a disk.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, String> {
    let outcome = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
    outcome.map_err(|error| error.to_string())
}

/// Writes down who used what ends, and finds the rows among it that end soon.
async fn endings(snapshot: &Snapshot, watched: &AlertInputs) -> Result<Vec<DueRow>, String> {
    let (uses, calendar) = (watched.old_uses.clone(), Arc::clone(&snapshot.deprecations));
    let today = CalendarDate::of_unix(watched.clock.unix().as_secs());
    if !endings::any_ends_soon(&calendar, today) {
        return on_disk(move || uses.write()).await.map(|()| Vec::new());
    }
    let uses = on_disk(move || uses.all()).await?;
    Ok(endings::found(&calendar, &uses, today))
}

/// An event for each row, once on each day, and a gauge as long as it is due.
fn tell_of(endings: &[DueRow], told: &mut HashSet<(String, i32)>, watched: &AlertInputs) {
    let rows = endings::of_all_accounts(endings);
    told.retain(|(row, days)| rows.iter().any(|ending| ending.row == *row && ending.days == *days));
    let gauges = &watched.events.metrics().deprecation_days;
    gauges.reset();
    for ending in rows {
        gauges.with_label_values(&[ending.row.as_str()]).set(ending.days.into());
        if told.insert((ending.row.clone(), ending.days)) {
            watched.events.emit(&DeprecationDue {
                row: ending.row,
                ends: ending.end.to_string(),
                days: ending.days,
                uses: ending.uses,
            });
        }
    }
}

/// Looks at one policy, and tells its webhooks if there is something to tell.
async fn look(
    snapshot: &Snapshot,
    policy: &Declared<AlertPolicy>,
    endings: &[DueRow],
    watched: &AlertInputs,
) -> Result<(), String> {
    let now = watched.clock.unix();
    let silence = match policy.alert_type {
        AlertType::DeprecationAlert => SILENCE_OF_ENDINGS,
        AlertType::SecurityEventsAlert | AlertType::AdvancedSecurityEventsAlert => SILENCE,
    };
    let silent_since = rfc3339(watched.clock.now() - silence);
    let (reader, of) = (Arc::clone(&watched.log), policy.value.clone());
    let ending = endings::told(policy, endings);
    let found = on_disk(move || {
        let log = reader.lock();
        if log.alerted_since(&of.id, &silent_since)? {
            return Ok(None);
        }
        match of.alert_type {
            AlertType::DeprecationAlert => Ok(ending),
            AlertType::SecurityEventsAlert | AlertType::AdvancedSecurityEventsAlert => {
                spikes::found(&log, &of, now)
            }
        }
    });
    match found.await? {
        Some((text, data)) => tell(snapshot, policy, (text, data), watched).await,
        None => Ok(()),
    }
}

/// Tells the webhooks and mailboxes of a policy, and keeps that it did.
async fn tell(
    snapshot: &Snapshot,
    policy: &AlertPolicy,
    (text, data): (String, Value),
    watched: &AlertInputs,
) -> Result<(), String> {
    let now = watched.clock.unix();
    let mut delivered = Vec::new();
    let mut failed = Vec::new();
    let message = json!({
        "name": policy.name,
        "text": text,
        "data": data,
        "ts": now.as_secs(),
        "account_id": policy.account,
        "policy_id": policy.id,
        "policy_name": policy.name,
        "alert_type": policy.alert_type,
        "alert_event": "ALERT_STATE_EVENT_START",
    })
    .to_string();
    for id in &policy.webhooks {
        let Some(webhook) = snapshot.resources.webhooks.get(id) else { continue };
        let secret = match webhook_secret::opened(webhook, watched.secrets_key.as_ref()) {
            Ok(secret) => secret,
            Err(reason) => {
                failed.push(reason);
                continue;
            }
        };
        let sent = Webhook {
            url: webhook.url.clone(),
            fields: secret_field(secret),
            body: message.clone(),
            may_be_private: watched.may_be_private,
        };
        match sent.send(&snapshot.upstream, now).await {
            Ok(()) => delivered.push(webhook.name.clone()),
            Err(reason) => failed.push(reason),
        }
    }
    let figures = serde_json::to_string_pretty(&data).unwrap_or_default();
    let about = format!("Account {}, policy {} ({}).", policy.account, policy.name, policy.id);
    let letter = format!("{text}\n\n{figures}\n\n{about}\n");
    for to in &policy.emails {
        let Some(settings) = &snapshot.mail else {
            failed.push(format!("mail to `{to}`: `[mail]` is not set in the configuration"));
            continue;
        };
        let mail = Mail { to: to.clone(), subject: format!("Alert: {}", policy.name), text: letter.clone() };
        match mail.send(settings).await {
            Ok(()) => delivered.push(to.clone()),
            Err(reason) => failed.push(reason),
        }
    }
    let past = PastAlert {
        policy: policy.id.clone(),
        account: policy.account.to_string(),
        at: rfc3339(watched.clock.now()),
        text,
        delivered: delivered.join(", "),
        failed: failed.join("; "),
    };
    let writer = Arc::clone(&watched.log);
    on_disk(move || writer.lock().alerted(&past)).await?;
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}
