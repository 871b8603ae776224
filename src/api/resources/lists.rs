//! Named lists of an account, without their values.

use std::sync::Arc;

use model::{Declared, ListKind, NamedList, Resources, RulesetOwner};
use serde::Serialize;
use store::Change;

use super::accounts::Deleted;
use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Operation, QueryParameter, ResultKind, Running, Verb, new_id,
};

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    input: Option<InputShape>,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (permission, query) = match verb {
        Verb::Get => (Permission::RulesetsRead, &[] as &[QueryParameter]),
        _ => (Permission::RulesetsWrite, &[DRY_RUN] as &[QueryParameter]),
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

const LISTS: &str = "/accounts/{account_id}/rules/lists";
const LIST: &str = "/accounts/{account_id}/rules/lists/{list_id}";
const ONE: ResultKind = ResultKind::One(shapes::NAMED_LIST);

pub(super) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        LISTS,
        "Lists the named lists of an account, without their values.",
        None,
        ResultKind::List(shapes::NAMED_LIST),
        |call| Box::pin(all(call)),
    ),
    operation(
        Verb::Post,
        LISTS,
        "Makes a named list, which is empty.",
        Some(InputShape::Object(shapes::NAMED_LIST)),
        ONE,
        |call| Box::pin(make(call)),
    ),
    operation(Verb::Get, LIST, "Shows a named list, without its values.", None, ONE, |call| {
        Box::pin(async move { ApiReply::of(&shown(list(&call.snapshot.resources, &call)?, &call)) })
    }),
    operation(
        Verb::Put,
        LIST,
        "Changes the description of a named list.",
        Some(InputShape::Object(shapes::NAMED_LIST)),
        ONE,
        |call| Box::pin(describe(call)),
    ),
    operation(
        Verb::Delete,
        LIST,
        "Deletes a named list that no rule names.",
        None,
        ResultKind::One(shapes::DELETED),
        |call| Box::pin(delete(call)),
    ),
];

#[derive(Debug, Serialize)]
struct ShownList<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    kind: ListKind,
    num_items: usize,
    num_referencing_filters: usize,
    created_on: &'a str,
    modified_on: &'a str,
}

fn shown<'a>(list: &'a NamedList, call: &ApiCall) -> ShownList<'a> {
    ShownList {
        id: &list.id,
        name: &list.name,
        description: &list.description,
        kind: list.kind,
        num_items: list.items.len(),
        num_referencing_filters: rules_naming(list, call),
        created_on: &list.created_on,
        modified_on: &list.modified_on,
    }
}

/// How many rules of the account and its zones name a list.
fn rules_naming(list: &NamedList, call: &ApiCall) -> usize {
    let name = format!("${}", list.name);
    let names = |text: &str| {
        text.match_indices(&name).any(|(at, _)| {
            let after = text.get(at + name.len()..).and_then(|rest| rest.bytes().next());
            !after.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
        })
    };
    let resources = &call.snapshot.resources;
    let is_of_account = |owner: &RulesetOwner| match owner {
        RulesetOwner::Account(account) => *account == list.account,
        RulesetOwner::Zone(zone) => {
            resources.zones.get(zone).is_some_and(|zone| zone.account == list.account)
        }
    };
    let stored = resources.rulesets.iter().filter(|((owner, _), _)| is_of_account(owner));
    let of_zones = resources.zones.values().filter(|zone| zone.account == list.account);
    let of_files = of_zones.flat_map(|zone| &zone.rulesets);
    let rules =
        stored.flat_map(|(_, ruleset)| &ruleset.rules).chain(of_files.flat_map(|ruleset| &ruleset.rules));
    let counting =
        |rule: &model::Rule| rule.ratelimit.as_ref().is_some_and(|rate| names(&rate.counting_expression));
    rules.filter(|rule| names(&rule.expression) || counting(rule)).count()
}

/// The list of the path.
pub(super) fn list<'r>(
    resources: &'r Resources,
    call: &ApiCall,
) -> Result<&'r Arc<Declared<NamedList>>, ApiErrors> {
    let (id, account) = (call.parameter("list_id"), call.account());
    let found = resources.lists.get(id).filter(|list| list.account == account);
    found.ok_or_else(|| ApiError::new(error::NOT_FOUND, format!("the account has no list `{id}`")).into())
}

async fn all(call: ApiCall) -> Answer {
    let account = call.account();
    let mine = call.snapshot.resources.lists.values().filter(|list| list.account == account);
    ApiReply::of(&mine.map(|list| shown(list, &call)).collect::<Vec<_>>())
}

async fn make(call: ApiCall) -> Answer {
    let ((name, kind, description), unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&["id", "num_items", "num_referencing_filters", "created_on", "modified_on"]);
        let name = fields.required_text("name").filter(|name| {
            let is_name = NamedList::is_name(name);
            if !is_name {
                let message = format!("`{name:.60}` is no name of a list: 1 to 50 of a-z, 0-9 and `_`");
                fields.refuse(error::BAD_FIELD, "name", message);
            }
            is_name
        });
        if fields.value("kind").is_none() {
            fields.refuse(error::BAD_FIELD, "kind", "`kind` is required: `ip`, `hostname` or `asn`");
        }
        let kind = fields.word::<ListKind>("kind", error::BAD_FIELD);
        let description = fields.text("description").unwrap_or("").to_owned();
        Some((name?.to_owned(), kind?, description))
    })?;
    let (id, account, now) = (new_id()?, call.account(), call.now.clone());
    let list = NamedList {
        id,
        account,
        name,
        description,
        kind,
        items: Vec::new(),
        created_on: now.clone(),
        modified_on: now,
    };
    let put = list.clone();
    call.write(move |resources| {
        let is_same =
            |known: &&Arc<Declared<NamedList>>| known.account == put.account && known.name == put.name;
        if let Some(known) = resources.lists.values().find(is_same) {
            let message = format!("the list `{}` has the name `{}`", known.id, known.name);
            return Err(ApiError::new(error::CONFLICT, message).into());
        }
        Ok(vec![Change::PutList { list: Box::new(put.clone()) }])
    })
    .await?;
    Ok(ApiReply::of(&shown(&list, &call))?.passing_over(unknown))
}

async fn describe(call: ApiCall) -> Answer {
    let (description, unknown) = rule_input::read(&call.body, |fields| {
        fields.ignore(&[
            "id",
            "name",
            "kind",
            "num_items",
            "num_referencing_filters",
            "created_on",
            "modified_on",
        ]);
        Some(fields.text("description").unwrap_or("").to_owned())
    })?;
    let id = list(&call.snapshot.resources, &call)?.id.clone();
    let (of, now) = (id.clone(), call.now.clone());
    let applied = call
        .write(move |resources| {
            let Some(known) = resources.lists.get(&of) else { return Ok(Vec::new()) };
            let mut list = known.value.clone();
            (list.description, list.modified_on) = (description.clone(), now.clone());
            Ok(vec![Change::PutList { list: Box::new(list) }])
        })
        .await?;
    let list = list(&applied.resources, &call)?;
    Ok(ApiReply::of(&shown(list, &call))?.passing_over(unknown))
}

async fn delete(call: ApiCall) -> Answer {
    let known = list(&call.snapshot.resources, &call)?;
    let (id, account) = (known.id.clone(), known.account.clone());
    let rules = rules_naming(known, &call);
    if rules > 0 {
        let message = format!("{rules} rules name the list `{}`; change them first", known.name);
        return Err(ApiError::new(error::CONFLICT, message).into());
    }
    let of = id.clone();
    call.write(move |_| Ok(vec![Change::DeleteList { account: account.clone(), id: of.clone() }])).await?;
    ApiReply::of(&Deleted { id: &id })
}
