//! One operation of the API: who may ask for it, what it takes, what answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;
use uuid::Uuid;

use super::auth::scope::ScopeSubject;
use super::auth::{Actor, Permission};
use super::deprecated::CallRows;
use super::envelope::{ApiReply, ResultInfo};
use super::error::{self, ApiError, ApiErrors};
use super::router::{PREFIX, State};
use crate::certificates;
use crate::control::{Applied, Write};
use crate::snapshot::Snapshot;
use deprecations::OperationName;
use model::{AccountId, Declared, HostName, Resources, Zone, ZoneId};
use store::{Change, KeyedRequest};

/// What an operation answers.
pub(super) type Answer = Result<ApiReply, ApiErrors>;

/// An operation under way.
pub(super) type Running = Pin<Box<dyn Future<Output = Answer> + Send>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    const ALL: [Self; 5] = [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// The verb of a method.
    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.word() == word)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// An operation, as its resource lists it.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) verb: Verb,
    /// Below `/client/v4`; a name in braces is a parameter.
    pub(super) path: &'static str,
    /// One sentence, for the description of the API.
    pub(super) summary: &'static str,
    pub(super) permission: Permission,
    /// Parameters of the query; others are refused.
    pub(super) query: &'static [QueryParameter],
    pub(super) input: Option<InputShape>,
    pub(super) output: ResultKind,
    pub(super) run: fn(ApiCall) -> Running,
}

impl Operation {
    /// As the calendar of what ends names it.
    pub(super) fn name(&self) -> OperationName<'static> {
        OperationName { method: self.verb.word(), path: self.path }
    }
}

/// A parameter of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryParameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) doc: &'static str,
}

/// What the body of a request is.
#[derive(Clone, Copy, Debug)]
pub(super) enum InputShape {
    Object(&'static ObjectShape),
    List(&'static ObjectShape),
    /// A form whose fields are texts, or a text alone, which is its field `file`.
    Form(&'static ObjectShape),
}

/// What the result of an operation is.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResultKind {
    One(&'static ObjectShape),
    List(&'static ObjectShape),
    /// A text or another value without a shape.
    Value,
    /// 204.
    Nothing,
    /// A text of this media type, without an envelope.
    Text(&'static str),
}

/// The fields of an object, for the description of the API.
#[derive(Debug)]
pub(super) struct ObjectShape {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) doc: &'static str,
    /// Whether a request must have it.
    pub(super) is_required: bool,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Whole,
    Flag,
    /// One of these words.
    Words(&'static [&'static str]),
    Texts,
    Object(&'static ObjectShape),
    Objects(&'static ObjectShape),
    /// Anything, also nothing.
    Any,
}

/// A field that may be left out.
pub(super) const fn field(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field { name, kind, doc, is_required: false }
}

/// A field that must be there.
pub(super) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field { name, kind, doc, is_required: true }
}

/// What accounts were called in paths at first.
const ORGANIZATION: &str = "organization_id";

/// What every write takes.
pub(super) const DRY_RUN: QueryParameter = QueryParameter {
    name: "dry_run",
    kind: Kind::Flag,
    doc: "Whether everything is checked and nothing is kept; the result is what would be.",
};
pub(super) const PAGE: QueryParameter = QueryParameter {
    name: "page",
    kind: Kind::Whole,
    doc: "Which page, from 1; behind the last it is empty.",
};
pub(super) const PER_PAGE: QueryParameter =
    QueryParameter { name: "per_page", kind: Kind::Whole, doc: "How many entries a page has." };

/// One request for an operation.
pub(super) struct ApiCall {
    pub(super) shared: State,
    pub(super) actor: Actor,
    /// Of the path, decoded.
    pub(super) parameters: Vec<(String, String)>,
    /// Of the query, decoded.
    pub(super) query: Vec<(String, String)>,
    /// `null` if there is none.
    pub(super) body: Value,
    pub(super) headers: HeaderMap,
    /// As things are when it begins.
    pub(super) snapshot: Arc<Snapshot>,
    /// RFC 3339.
    pub(super) now: String,
    /// Seconds since the epoch.
    pub(super) unix: u64,
    /// The path below `/client/v4`.
    pub(super) path: String,
    /// Its hashes, if it has an idempotency key.
    pub(super) request: Option<KeyedRequest>,
    /// What ends of what it may use; `None` if nothing does.
    pub(super) old: Option<Arc<CallRows>>,
}

impl ApiCall {
    /// The operation that it asks for, as messages name it.
    pub(super) fn label(&self, verb: Verb) -> String {
        format!("{} {PREFIX}{:.200}", verb.word(), self.path)
    }

    /// A parameter of the path.
    pub(super) fn parameter(&self, name: &str) -> &str {
        self.parameters.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A parameter of the query; the first, if it is repeated. An empty one is absent.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(super) fn account(&self) -> AccountId {
        let is_account = self.parameters.iter().any(|(known, _)| known == "account_id");
        AccountId::new(self.parameter(if is_account { "account_id" } else { ORGANIZATION }))
    }

    /// The zone of the path, by its id or its name.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn zone(&self) -> Result<Arc<Declared<Zone>>, ApiErrors> {
        let found = find_zone(&self.snapshot.resources, self.parameter("zone_id"));
        found.map(Arc::clone).ok_or_else(|| ApiError::unknown(&self.path).into())
    }

    /// What it is about, by its path.
    pub(super) fn subject(&self) -> ScopeSubject {
        let has = |name: &str| self.parameters.iter().any(|(known, _)| known == name);
        if has("zone_id") {
            return match find_zone(&self.snapshot.resources, self.parameter("zone_id")) {
                Some(zone) => ScopeSubject::Zone(zone.id.clone(), zone.account.clone()),
                None => ScopeSubject::Unknown,
            };
        }
        if has("account_id") || has(ORGANIZATION) {
            ScopeSubject::Account(self.account())
        } else {
            ScopeSubject::User
        }
    }

    /// Whether something that ends is served to this call, by its row.
    pub(super) fn serves(&self, row: &str) -> bool {
        self.old.as_ref().is_some_and(|rows| rows.mode(row).is_served())
    }

    /// Whether the answer to this call still shows something that ends.
    pub(super) fn shows_old(&self, row: &str) -> bool {
        self.old.as_ref().is_some_and(|rows| rows.shows(row))
    }

    /// Whether nothing is to be kept.
    ///
    /// # Errors
    /// If the parameter is neither `true` nor `false`.
    pub(super) fn is_dry_run(&self) -> Result<bool, ApiErrors> {
        Ok(self.flag(DRY_RUN.name)? == Some(true))
    }

    /// A parameter of the query that is `true` or `false`; `None` if it is absent.
    ///
    /// # Errors
    /// If it is neither.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, ApiErrors> {
        match self.asked(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => {
                let message = format!("expected `true` or `false` for `{name}`, found `{other:.40}`");
                Err(ApiError::new(error::BAD_QUERY, message).into())
            }
        }
    }

    /// Refuses a change of a resource that is not at the revision of `If-Match`.
    ///
    /// # Errors
    /// If it is at another.
    pub(super) fn precondition(&self) -> IfMatch {
        let tag = self.headers.get(http::header::IF_MATCH).and_then(|value| value.to_str().ok());
        IfMatch { tag: tag.map(|tag| tag.trim().trim_start_matches("W/").trim_matches('"').to_owned()) }
    }

    /// Changes resources: asks `edit` when its turn comes, and answers when the change is served.
    ///
    /// # Errors
    /// Those of the edit, of the rules that do not compile, or of the store.
    pub(super) async fn write(
        &self,
        edit: impl Fn(&Resources) -> Result<Vec<Change>, ApiErrors> + Send + 'static,
    ) -> Result<Applied, ApiErrors> {
        let write = Write {
            actor: self.actor.label(),
            edit: Box::new(move |resources| edit(resources).map_err(Into::into)),
            expected: None,
            is_dry_run: self.is_dry_run()?,
            request: self.request.clone(),
        };
        Ok(self.shared.control.write(write).await?)
    }

    /// The page that is asked for of a list, by the bounds of its length.
    ///
    /// # Errors
    /// If a number is none.
    pub(super) fn paging(&self, default: u64, most: u64) -> Result<Paging, ApiErrors> {
        let number = |name: &str, default: u64| match self.asked(name) {
            None => Ok(default),
            // Some clients send numbers as they print floats.
            Some(text) => {
                text.strip_suffix(".0").unwrap_or(text).parse::<u64>().map(|number| number.max(1)).map_err(
                    |_| {
                        let message = format!("expected a number for `{name}`, found `{text}`");
                        ApiError::new(error::BAD_QUERY, message)
                    },
                )
            }
        };
        Ok(Paging { page: number("page", 1)?, per_page: number("per_page", default)?.min(most) })
    }
}

/// A zone by its id or its name.
pub(super) fn find_zone<'r>(resources: &'r Resources, id: &str) -> Option<&'r Arc<Declared<Zone>>> {
    let by_id = resources.zones.get(&ZoneId::new(id));
    by_id.or_else(|| {
        let name = HostName::ascii(id.trim_end_matches('.')).filter(|name| name.contains('.'))?;
        resources.zones.named(&name)
    })
}

/// What `If-Match` demands.
#[derive(Clone, Debug)]
pub(super) struct IfMatch {
    tag: Option<String>,
}

impl IfMatch {
    /// What demands nothing.
    pub(super) fn none() -> Self {
        Self { tag: None }
    }

    /// Checks it against the revision a resource is at; `None` if there is no such resource.
    ///
    /// # Errors
    /// If it is at another.
    pub(super) fn check(&self, revision: Option<u64>) -> Result<(), ApiErrors> {
        match (self.tag.as_deref(), revision) {
            (None, _) | (Some("*"), Some(_)) => Ok(()),
            (Some(tag), Some(revision)) if tag == revision.to_string() => Ok(()),
            (Some(tag), found) => {
                let found = found.map_or("gone".to_owned(), |revision| format!("at \"{revision}\""));
                let message =
                    format!("the resource is {found}, not at \"{tag}\" as `If-Match` demands; read it again");
                Err(ApiError::new(error::CHANGED, message).into())
            }
        }
    }
}

/// Which page of a list is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paging {
    /// From 1.
    pub(super) page: u64,
    pub(super) per_page: u64,
}

impl Paging {
    /// How many entries stand before the page.
    pub(super) fn skipped(self) -> u64 {
        (self.page - 1).saturating_mul(self.per_page)
    }

    /// What a page of so many of `total` entries says of itself.
    pub(super) fn info(self, count: usize, total: u64) -> ResultInfo {
        ResultInfo {
            page: self.page,
            per_page: self.per_page,
            count,
            total_count: total,
            total_pages: total.div_ceil(self.per_page.max(1)).max(1),
        }
    }

    /// The page of a list that is all there.
    pub(super) fn of<T>(self, all: Vec<T>) -> (Vec<T>, ResultInfo) {
        let total = all.len() as u64;
        let skipped = usize::try_from(self.skipped()).unwrap_or(usize::MAX);
        let taken = usize::try_from(self.per_page).unwrap_or(usize::MAX);
        let items: Vec<T> = all.into_iter().skip(skipped).take(taken).collect();
        let info = self.info(items.len(), total);
        (items, info)
    }
}

/// A new UUID.
///
/// # Errors
/// If the system has no random numbers.
pub(super) fn new_uuid() -> Result<Uuid, ApiErrors> {
    certificates::new_uuid().map_err(|message| ApiError::new(error::UNAVAILABLE, message).into())
}

/// A new identifier: 32 hex digits.
///
/// # Errors
/// If the system has no random numbers.
pub(super) fn new_id() -> Result<String, ApiErrors> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| {
        ApiError::new(error::UNAVAILABLE, format!("the system has no random numbers: {error}"))
    })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
