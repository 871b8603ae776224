//! Which security events are asked for.

use model::{AccountId, ZoneId};
use rusqlite::types::Value;

/// Whose events are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SecurityOwner {
    /// Everyone's.
    #[default]
    All,
    Account(AccountId),
    /// A zone's, as long as it was this account's.
    Zone(ZoneId, AccountId),
}

/// The fields that lists are filtered by and counted over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityField {
    Zone,
    Host,
    Source,
    Action,
    Rule,
    Reference,
    Client,
    Ray,
    Path,
}

impl SecurityField {
    pub const ALL: [Self; 9] = [
        Self::Zone,
        Self::Host,
        Self::Source,
        Self::Action,
        Self::Rule,
        Self::Reference,
        Self::Client,
        Self::Ray,
        Self::Path,
    ];

    /// Its column, which is also the name of the parameter that asks for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Zone => "zone",
            Self::Host => "host",
            Self::Source => "source",
            Self::Action => "action",
            Self::Rule => "rule",
            Self::Reference => "reference",
            Self::Client => "client",
            Self::Ray => "ray",
            Self::Path => "path",
        }
    }
}

/// Which events are asked for.
#[derive(Clone, Debug, Default)]
pub struct SecurityQuery {
    pub owner: SecurityOwner,
    /// Only those of zones of these names, if there are any.
    pub zones: Vec<String>,
    /// All of these.
    pub filters: Vec<(SecurityField, String)>,
    /// And one of these, if there are any.
    pub any_of: Vec<(SecurityField, String)>,
    /// RFC 3339; from the first, up to but not with the second.
    pub since: Option<String>,
    pub until: Option<String>,
    pub skip: u64,
    pub limit: u64,
}

impl SecurityQuery {
    /// The part of the condition that kinds of events have columns for, and its values.
    pub(super) fn of_kinds(&self) -> (String, Vec<Value>) {
        let has_column = |field: &SecurityField| {
            use SecurityField::{Action, Host, Reference, Rule, Source};
            matches!(field, Host | Source | Action | Rule | Reference)
        };
        let filters = self.filters.iter().filter(|(field, _)| has_column(field)).cloned().collect();
        Self { owner: self.owner.clone(), filters, ..Self::default() }.condition()
    }

    /// The condition and its values.
    pub(super) fn condition(&self) -> (String, Vec<Value>) {
        let mut parts = vec!["1".to_owned()];
        let mut values = Vec::new();
        let (mut any, mut any_values) = (Vec::new(), Vec::new());
        let mut push = |sql: String, value: &str| {
            parts.push(sql);
            values.push(Value::Text(value.to_owned()));
        };
        match &self.owner {
            SecurityOwner::All => (),
            SecurityOwner::Account(account) => push("account = ?".to_owned(), account.as_str()),
            SecurityOwner::Zone(zone, account) => {
                push("zone_id = ?".to_owned(), zone.as_str());
                push("account = ?".to_owned(), account.as_str());
            }
        }
        for (field, value) in &self.filters {
            push(format!("{} = ?", field.word()), value);
        }
        for (nth, (field, value)) in self.any_of.iter().enumerate() {
            let (open, close) =
                (if nth == 0 { "(" } else { "OR " }, if nth + 1 == self.any_of.len() { ")" } else { "" });
            any.push(format!("{open}{} = ?{close}", field.word()));
            any_values.push(Value::Text(value.clone()));
        }
        self.since.iter().for_each(|since| push("at >= ?".to_owned(), since));
        self.until.iter().for_each(|until| push("at < ?".to_owned(), until));
        if !any.is_empty() {
            parts.push(any.join(" "));
            values.extend(any_values);
        }
        if !self.zones.is_empty() {
            // INVARIANT: a list of texts always serialises.
            let list = serde_json::to_string(&self.zones).unwrap_or_default();
            parts.push("zone IN (SELECT value FROM json_each(?))".to_owned());
            values.push(Value::Text(list));
        }
        (parts.join(" AND "), values)
    }
}
