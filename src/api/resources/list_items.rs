//! Values of named lists. A change holds when it is answered, so that its operation is complete at once.

use std::collections::{BTreeSet, HashMap};

use expression::NamedSet;
use model::{ListItem, ListKind, NamedList};
use serde::Serialize;
use serde_json::Value;
use store::Change;

use super::lists::list;
use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::{Fields, Findings};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, Operation, PER_PAGE, QueryParameter, ResultKind, Running,
    Verb, new_id,
};

const ITEMS: &str = "/accounts/{account_id}/rules/lists/{list_id}/items";
const CHANGED: ResultKind = ResultKind::One(shapes::LIST_OPERATION);
const VALUES: InputShape = InputShape::List(shapes::LIST_ITEM);
const DEFAULT_PER_PAGE: u64 = 500;

const LISTED: &[QueryParameter] = &[
    QueryParameter { name: "cursor", kind: Kind::Text, doc: "Where to go on, as the part before says." },
    PER_PAGE,
    QueryParameter { name: "search", kind: Kind::Text, doc: "What values or comments have in them." },
];

const fn change(
    verb: Verb,
    summary: &'static str,
    input: InputShape,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, query) = (Permission::RulesetsWrite, &[DRY_RUN]);
    Operation { verb, path: ITEMS, summary, permission, query, input: Some(input), output: CHANGED, run }
}

const fn read(
    path: &'static str,
    summary: &'static str,
    query: &'static [QueryParameter],
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let permission = Permission::RulesetsRead;
    Operation { verb: Verb::Get, path, summary, permission, query, input: None, output, run }
}

pub(super) const OPERATIONS: &[Operation] = &[
    read(ITEMS, "Lists the values of a named list.", LISTED, ResultKind::List(shapes::LIST_ITEM), |call| {
        Box::pin(items(call))
    }),
    change(Verb::Post, "Adds values to a named list; those it has get the new comment.", VALUES, |call| {
        Box::pin(put(call, false))
    }),
    change(Verb::Put, "Replaces the values of a named list.", VALUES, |call| Box::pin(put(call, true))),
    change(
        Verb::Delete,
        "Takes values out of a named list, by their ids.",
        InputShape::Object(shapes::LIST_ITEM_IDS),
        |call| Box::pin(remove(call)),
    ),
    read(
        "/accounts/{account_id}/rules/lists/{list_id}/items/{item_id}",
        "Shows a value of a named list.",
        &[],
        ResultKind::One(shapes::LIST_ITEM),
        |call| Box::pin(item(call)),
    ),
    read(
        "/accounts/{account_id}/rules/lists/bulk_operations/{operation_id}",
        "Says how a change of values went.",
        &[],
        ResultKind::One(shapes::BULK_OPERATION),
        |call| Box::pin(operation(call)),
    ),
];

#[derive(Debug, Serialize)]
struct ShownListItem<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asn: Option<u32>,
    comment: &'a str,
    created_on: &'a str,
    modified_on: &'a str,
}

fn shown(kind: ListKind, item: &ListItem) -> ShownListItem<'_> {
    let ListItem { id, value, comment, created_on, modified_on } = item;
    let value_of = |of| (kind == of).then_some(value.as_str());
    let (ip, hostname) = (value_of(ListKind::Ip), value_of(ListKind::Hostname));
    let asn = value_of(ListKind::Asn).and_then(|number| number.parse().ok());
    ShownListItem { id, ip, hostname, asn, comment, created_on, modified_on }
}

async fn items(call: ApiCall) -> Answer {
    let list = list(&call.snapshot.resources, &call)?;
    let most = call.paging(DEFAULT_PER_PAGE, DEFAULT_PER_PAGE)?.per_page;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let search = call.asked("search").unwrap_or("").to_ascii_lowercase();
    let begin = match call.asked("cursor") {
        None => 0,
        Some(cursor) => {
            list.items.iter().position(|item| item.id == cursor).map(|at| at + 1).ok_or_else(|| {
                ApiError::new(error::BAD_QUERY, format!("the list has no cursor `{cursor:.60}`; begin anew"))
            })?
        }
    };
    let is_meant = |item: &&ListItem| {
        search.is_empty()
            || item.value.contains(&search)
            || item.comment.to_ascii_lowercase().contains(&search)
    };
    let mut found: Vec<_> =
        list.items.iter().skip(begin).filter(is_meant).take(most.saturating_add(1)).collect();
    let goes_on = found.len() > most;
    found.truncate(most);
    let after = found.last().filter(|_| goes_on).map(|item| item.id.clone());
    ApiReply::part(&found.into_iter().map(|item| shown(list.kind, item)).collect::<Vec<_>>(), after)
}

async fn item(call: ApiCall) -> Answer {
    let list = list(&call.snapshot.resources, &call)?;
    let id = call.parameter("item_id");
    let found = list.items.iter().find(|item| item.id == id);
    let unknown = || ApiError::new(error::NOT_FOUND, format!("the list has no value `{id:.60}`"));
    ApiReply::of(&shown(list.kind, found.ok_or_else(unknown)?))
}

/// A value in normal form, with its comment.
type Commented = (String, String);

/// The values of a body, in normal form, with their comments; the last of those that are the same.
fn written(call: &ApiCall, kind: ListKind) -> Result<(Vec<Commented>, Vec<String>), ApiErrors> {
    let Value::Array(entries) = &call.body else {
        let message = format!("expected a list of objects with `{}`", kind.word());
        return Err(ApiError::new(error::BAD_BODY, message).into());
    };
    let findings = Findings::default();
    let mut values: Vec<Commented> = Vec::with_capacity(entries.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for (nth, entry) in entries.iter().enumerate() {
        let Some(fields) = Fields::at(entry, format!("/{nth}"), &findings) else { continue };
        fields.ignore(&["id", "created_on", "modified_on"]);
        let (name, comment) = (kind.word(), fields.text("comment").unwrap_or("").to_owned());
        let text = match (kind, fields.value(name).and_then(Value::as_u64)) {
            (ListKind::Asn, Some(number)) => number.to_string(),
            _ => match fields.required_text(name) {
                Some(text) => text.to_owned(),
                None => continue,
            },
        };
        match NamedSet::normal_form(kind, &text) {
            Ok(value) => match places.get(&value).and_then(|place| values.get_mut(*place)) {
                Some((_, known)) => *known = comment,
                None => {
                    places.insert(value.clone(), values.len());
                    values.push((value, comment));
                }
            },
            Err(message) => fields.refuse(error::BAD_FIELD, name, message),
        }
    }
    findings.into_result(values)
}

async fn put(call: ApiCall, replaces: bool) -> Answer {
    let list = list(&call.snapshot.resources, &call)?;
    let (values, unknown) = written(&call, list.kind)?;
    // One chance for all: each value has its place behind it.
    let (id, now, chance) = (list.id.clone(), call.now.clone(), new_id()?);
    let chance = chance.get(..24).unwrap_or("").to_owned();
    let applied = call
        .write(move |resources| {
            let Some(known) = resources.lists.get(&id) else { return Err(gone(&id)) };
            let mut list = known.value.clone();
            add(&mut list, &values, replaces, &chance, &now);
            if list.items.len() > NamedList::MAX_ITEMS {
                let (most, found) = (NamedList::MAX_ITEMS, list.items.len());
                let message = format!("a list has at most {most} values; this would be {found}");
                return Err(ApiError::new(error::BAD_FIELD, message).into());
            }
            Ok(vec![Change::PutList { list: Box::new(list) }])
        })
        .await?;
    Ok(changed(applied.revision)?.passing_over(unknown))
}

/// Adds values; those that are there keep their ids.
fn add(list: &mut NamedList, values: &[Commented], replaces: bool, chance: &str, now: &str) {
    let before = std::mem::take(&mut list.items);
    let mut known: HashMap<String, ListItem> = HashMap::new();
    let named: BTreeSet<&str> = values.iter().map(|(value, _)| value.as_str()).collect();
    for item in before {
        if named.contains(item.value.as_str()) {
            known.insert(item.value.clone(), item);
        } else if !replaces {
            list.items.push(item);
        }
    }
    for (nth, (value, comment)) in values.iter().enumerate() {
        let item = match known.remove(value) {
            Some(item) if item.comment == *comment => item,
            Some(item) => ListItem { comment: comment.clone(), modified_on: now.to_owned(), ..item },
            None => ListItem {
                id: format!("{chance}{nth:08x}"),
                value: value.clone(),
                comment: comment.clone(),
                created_on: now.to_owned(),
                modified_on: now.to_owned(),
            },
        };
        list.items.push(item);
    }
    now.clone_into(&mut list.modified_on);
}

async fn remove(call: ApiCall) -> Answer {
    let known = list(&call.snapshot.resources, &call)?;
    let (ids, unknown) = rule_input::read(&call.body, |fields| {
        let items = fields.objects("items");
        if items.is_none() && fields.value("items").is_none() {
            fields.refuse(error::BAD_FIELD, "items", "`items` is required: a list of objects with `id`");
        }
        let ids = items?.iter().map(|item| item.required_text("id").map(str::to_owned)).collect::<Vec<_>>();
        ids.into_iter().collect::<Option<BTreeSet<String>>>()
    })?;
    let missing = ids.iter().find(|id| !known.items.iter().any(|item| item.id == **id));
    if let Some(id) = missing {
        let message = format!("the list has no value `{id:.60}`");
        return Err(ApiError::at(error::NOT_FOUND, "/items".to_owned(), message).into());
    }
    let (id, now) = (known.id.clone(), call.now.clone());
    let applied = call
        .write(move |resources| {
            let Some(known) = resources.lists.get(&id) else { return Err(gone(&id)) };
            let mut list = known.value.clone();
            list.items.retain(|item| !ids.contains(&item.id));
            now.clone_into(&mut list.modified_on);
            Ok(vec![Change::PutList { list: Box::new(list) }])
        })
        .await?;
    Ok(changed(applied.revision)?.passing_over(unknown))
}

fn gone(id: &str) -> ApiErrors {
    ApiError::new(error::NOT_FOUND, format!("the list `{id}` was deleted meanwhile")).into()
}

/// The answer to a change: its operation is the revision that has it.
fn changed(revision: u64) -> Answer {
    ApiReply::of(&serde_json::json!({ "operation_id": format!("{revision:032x}") }))
}

async fn operation(call: ApiCall) -> Answer {
    let id = call.parameter("operation_id");
    let revision = u128::from_str_radix(id, 16).ok().filter(|_| id.len() == 32);
    let is_there = call.snapshot.resources.lists.values().any(|list| {
        let at = match list.provenance {
            model::Provenance::Revision(at) => Some(u128::from(at)),
            model::Provenance::File(_) => None,
        };
        // A list is at the last revision that changed it; the operations before that are complete too.
        at.zip(revision).is_some_and(|(at, revision)| revision <= at && revision > 0)
    });
    if !is_there {
        return Err(ApiError::new(error::NOT_FOUND, format!("there is no operation `{id:.60}`")).into());
    }
    ApiReply::of(&serde_json::json!({ "id": id, "status": "completed" }))
}
