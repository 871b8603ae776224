//! Who sent a call, for the counts of what it used.

use std::time::{Duration, UNIX_EPOCH};

use http::HeaderValue;
use http::header::USER_AGENT;
use model::AccountId;
use store::UseKey;

use super::ended;
use super::rows::CallRows;
use crate::api::auth::Actor;
use crate::api::auth::scope::ScopeSubject;
use crate::api::operation::ApiCall;
use crate::clock::rfc3339;
use crate::events::Events;
use crate::old_uses::OldUses;

/// What is kept of a user agent, in characters.
const MAX_AGENT: usize = 120;

/// What a call says of who sent it. Nothing of it is copied before something is used.
#[derive(Debug)]
pub(in crate::api) struct OldCaller {
    account: Option<AccountId>,
    actor: Actor,
    agent: Option<HeaderValue>,
    /// Seconds since the epoch.
    unix: u64,
    /// The path of what takes the place of its operation.
    pub(in crate::api) successor: Option<String>,
}

impl OldCaller {
    pub(in crate::api) fn of(rows: &CallRows, call: &ApiCall, subject: &ScopeSubject) -> Self {
        let account = match subject {
            ScopeSubject::Zone(_, account) | ScopeSubject::Account(account) => Some(account.clone()),
            ScopeSubject::User | ScopeSubject::Unknown => None,
        };
        Self {
            account,
            actor: call.actor.clone(),
            agent: call.headers.get(USER_AGENT).cloned(),
            unix: call.unix,
            successor: ended::successor(rows, call),
        }
    }

    /// Counts what its call used.
    pub(in crate::api) fn count(&self, rows: &CallRows, uses: &OldUses, events: &Events) {
        let used = rows.uses();
        if used.is_empty() {
            return;
        }
        let agent = self.agent.as_ref().map_or(&[][..], |agent| agent.as_bytes());
        let agent: String = String::from_utf8_lossy(agent).chars().take(MAX_AGENT).collect();
        let at = rfc3339(UNIX_EPOCH + Duration::from_secs(self.unix));
        for found in used {
            let Some(row) = rows.row(found.row) else { continue };
            let labels = [row.id.as_str(), found.mode.word()];
            events.metrics().deprecated_uses.with_label_values(&labels).inc();
            let key = UseKey {
                row: row.id.clone(),
                account: self.account.as_ref().map(ToString::to_string).unwrap_or_default(),
                token: self.actor.label(),
                agent: agent.clone(),
            };
            uses.count(key, &at);
        }
    }
}
