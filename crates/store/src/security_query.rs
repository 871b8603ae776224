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
    /// Only those of one of these sources, if there are any.
    pub sources: Vec<String>,
    /// All of these.
    pub filters: Vec<(SecurityField, String)>,
    /// RFC 3339; from the first, up to but not with the second.
    pub since: Option<String>,
    pub until: Option<String>,
    pub skip: u64,
    pub limit: u64,
}

impl SecurityQuery {
    /// Whether it asks for the events of one request, which are few and have an index.
    pub(super) fn asks_for_request(&self) -> bool {
        self.filters.iter().any(|(field, _)| *field == SecurityField::Ray)
    }

    /// The index that answers it best, as SQL names it: its planner knows how many entries values have on average, which says
    /// little of one value.
    pub(super) fn index(&self) -> &'static str {
        match self.owner {
            _ if self.asks_for_request() => "INDEXED BY events_by_ray",
            SecurityOwner::All => "",
            SecurityOwner::Account(_) => "INDEXED BY events_by_account",
            SecurityOwner::Zone(..) => "INDEXED BY events_by_zone",
        }
    }

    /// The condition and its values.
    pub(super) fn condition(&self) -> (String, Vec<Value>) {
        let mut parts = vec!["1".to_owned()];
        let mut values = Vec::new();
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
        self.since.iter().for_each(|since| push("at >= ?".to_owned(), since));
        self.until.iter().for_each(|until| push("at < ?".to_owned(), until));
        for (column, list) in [("zone", &self.zones), ("source", &self.sources)] {
            if !list.is_empty() {
                // INVARIANT: a list of texts always serialises.
                let list = serde_json::to_string(list).unwrap_or_default();
                push(format!("{column} IN (SELECT value FROM json_each(?))"), &list);
            }
        }
        (parts.join(" AND "), values)
    }
}
