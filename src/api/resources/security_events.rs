//! Security events: what rules, the scanner and limits found or refused.

use serde::Serialize;
use store::{SecurityField, SecurityOwner, SecurityQuery};

use super::shapes;
use crate::api::auth::Permission;
use crate::api::auth::scope::ScopeSubject;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Running, Verb,
};

const fn text(name: &'static str, doc: &'static str) -> QueryParameter {
    QueryParameter { name, kind: Kind::Text, doc }
}

const FIELD: QueryParameter = QueryParameter {
    name: "field",
    kind: Kind::Words(&["zone", "host", "source", "action", "rule", "reference", "client", "ray", "path"]),
    doc: "The field whose values are counted.",
};

/// What narrows both a list and a count, after the one parameter that only one of them has.
const fn narrowed(own: QueryParameter) -> [QueryParameter; 13] {
    [
        own,
        PER_PAGE,
        text("since", "Only events from then on (RFC 3339)."),
        text("until", "Only events before (RFC 3339)."),
        text("zone", "Only events of the zone of this name."),
        text("host", "Only events of this host."),
        text("source", "Only events of this source."),
        text("action", "Only events with this action."),
        text("rule", "Only events of the rule of this id."),
        text("reference", "Only events of the rule of this number or name."),
        text("client", "Only events of this address."),
        text("ray", "Only events of this request."),
        text("path", "Only events of this path."),
    ]
}

const LIST: &[QueryParameter] = &narrowed(PAGE);
const TOP: &[QueryParameter] = &narrowed(FIELD);

const fn read(
    path: &'static str,
    summary: &'static str,
    query: &'static [QueryParameter],
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let permission = Permission::EventsRead;
    Operation { verb: Verb::Get, path, summary, permission, query, input: None, output, run }
}

pub(super) const OPERATIONS: &[Operation] = &[
    read(
        "/zones/{zone_id}/security/events",
        "Lists the security events of a zone, the newest first.",
        LIST,
        ResultKind::List(shapes::SECURITY_EVENT),
        |call| Box::pin(list(call)),
    ),
    read(
        "/zones/{zone_id}/security/events/top",
        "Counts the security events of a zone by the values of a field, the most frequent first.",
        TOP,
        ResultKind::List(shapes::TOP_VALUE),
        |call| Box::pin(top(call)),
    ),
    read(
        "/accounts/{account_id}/security/events",
        "Lists the security events of an account, the newest first.",
        LIST,
        ResultKind::List(shapes::SECURITY_EVENT),
        |call| Box::pin(list(call)),
    ),
    read(
        "/accounts/{account_id}/security/events/top",
        "Counts the security events of an account by the values of a field, the most frequent first.",
        TOP,
        ResultKind::List(shapes::TOP_VALUE),
        |call| Box::pin(top(call)),
    ),
];

fn query(call: &ApiCall, skip: u64, limit: u64) -> Result<SecurityQuery, ApiErrors> {
    let owner = match call.subject() {
        ScopeSubject::Zone(id, account) => SecurityOwner::Zone(id, account),
        ScopeSubject::Account(account) => SecurityOwner::Account(account),
        ScopeSubject::User | ScopeSubject::Unknown => return Err(ApiError::unknown(&call.path).into()),
    };
    let fields = SecurityField::ALL.into_iter();
    let filters = fields.filter_map(|field| Some((field, call.asked(field.word())?.to_owned())));
    Ok(SecurityQuery {
        owner,
        zones: Vec::new(),
        filters: filters.collect(),
        sources: Vec::new(),
        since: time(call, "since")?,
        until: time(call, "until")?,
        skip,
        limit,
    })
}

/// A time as events have it.
fn time(call: &ApiCall, name: &str) -> Result<Option<String>, ApiErrors> {
    let Some(text) = call.asked(name) else { return Ok(None) };
    match text.parse::<jiff::Timestamp>() {
        Ok(at) => Ok(Some(format!("{at:.6}"))),
        Err(_) => {
            let message =
                format!("expected a time such as `2030-01-31T00:00:00Z` for `{name}`, found `{text}`");
            Err(ApiError::new(error::BAD_QUERY, message).into())
        }
    }
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, 1_000)?;
    let query = query(&call, paging.skipped(), paging.per_page)?;
    let (records, total) = call.shared.read_security(move |log| log.page(&query)).await?;
    ApiReply::page(&records, paging.info(records.len(), total))
}

#[derive(Debug, Serialize)]
struct TopValue {
    value: String,
    count: u64,
}

async fn top(call: ApiCall) -> Answer {
    let paging = call.paging(10, 1_000)?;
    let word = call.asked("field").unwrap_or("reference");
    let field = SecurityField::ALL.into_iter().find(|field| field.word() == word).ok_or_else(|| {
        let words = SecurityField::ALL.map(SecurityField::word).join("`, `");
        ApiError::new(error::BAD_QUERY, format!("unknown field `{word}`; expected one of `{words}`"))
    })?;
    let query = query(&call, 0, paging.per_page)?;
    let values = call.shared.read_security(move |log| log.top(&query, field)).await?;
    ApiReply::of(&values.into_iter().map(|(value, count)| TopValue { value, count }).collect::<Vec<_>>())
}
