//! Who sent a call, for the counts of what it used.

use store::UseKey;

use super::ended;
use super::rows::CallRows;
use crate::api::auth::scope::ScopeSubject;
use crate::api::operation::ApiCall;
use crate::events::Events;
use crate::old_uses::OldUses;

/// What is kept of a user agent, in characters.
const MAX_AGENT: usize = 120;

/// What a call says of who sent it.
#[derive(Debug)]
pub(in crate::api) struct OldCaller {
    account: String,
    token: String,
    agent: String,
    /// RFC 3339.
    at: String,
    /// The path of what takes the place of its operation.
    pub(in crate::api) successor: Option<String>,
}

impl OldCaller {
    pub(in crate::api) fn of(rows: &CallRows, call: &ApiCall, subject: &ScopeSubject) -> Self {
        let account = match subject {
            ScopeSubject::Zone(_, account) | ScopeSubject::Account(account) => account.to_string(),
            ScopeSubject::User | ScopeSubject::Unknown => String::new(),
        };
        let agent = call.headers.get(http::header::USER_AGENT).map_or(&[][..], |agent| agent.as_bytes());
        Self {
            account,
            token: call.actor.label(),
            agent: String::from_utf8_lossy(agent).chars().take(MAX_AGENT).collect(),
            at: call.now.clone(),
            successor: ended::successor(rows, call),
        }
    }

    /// Counts what its call used.
    pub(in crate::api) fn count(&self, rows: &CallRows, uses: &OldUses, events: &Events) {
        for found in rows.uses() {
            let Some(row) = rows.row(found.row) else { continue };
            let labels = [row.id.as_str(), found.mode.word()];
            events.metrics().deprecated_uses.with_label_values(&labels).inc();
            let key = UseKey {
                row: row.id.clone(),
                account: self.account.clone(),
                token: self.token.clone(),
                agent: self.agent.clone(),
            };
            uses.count(key, &self.at);
        }
    }
}
