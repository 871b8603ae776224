//! The calendar of what ends, how an account has it, and who still uses it.

use std::collections::BTreeMap;

use deprecations::DeprecationRow;
use model::{Account, AccountId, CalendarDate, DeprecationMode, DeprecationSettings, Resources};
use serde::Serialize;
use store::{Change, RowUses, UseCount, UseKey};

use super::{accounts, rule_input};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::input::Fields;
use crate::api::operation::{
    Answer, ApiCall, DRY_RUN, InputShape, Kind, ObjectShape, Operation, QueryParameter, ResultKind, Running,
    Verb, field,
};
use crate::conf::DeprecationCalendar;

const fn operation(
    verb: Verb,
    path: &'static str,
    summary: &'static str,
    permission: Permission,
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let (query, input): (&[QueryParameter], _) = match verb {
        Verb::Get => (&[], None),
        _ => (&[DRY_RUN], Some(InputShape::Object(DEPRECATION_SETTINGS))),
    };
    Operation { verb, path, summary, permission, query, input, output, run }
}

pub(super) const OPERATIONS: &[Operation] = &[
    operation(
        Verb::Get,
        "/deprecations",
        "Lists what ends, when, and what takes its place.",
        Permission::Any,
        ResultKind::List(DEPRECATION),
        |call| Box::pin(list(call)),
    ),
    operation(
        Verb::Get,
        "/deprecations/{row_id}",
        "Shows something that ends.",
        Permission::Any,
        ResultKind::One(DEPRECATION),
        |call| Box::pin(find(call)),
    ),
    operation(
        Verb::Get,
        "/accounts/{account_id}/deprecations",
        "Lists what ends with how it is served in an account, who used it there, and when last.",
        Permission::AccountRead,
        ResultKind::List(DEPRECATION),
        |call| Box::pin(of_account(call)),
    ),
    operation(
        Verb::Get,
        "/accounts/{account_id}/deprecations/settings",
        "Shows how an account has what ends.",
        Permission::AccountRead,
        ResultKind::One(DEPRECATION_SETTINGS),
        |call| Box::pin(show_settings(call)),
    ),
    operation(
        Verb::Put,
        "/accounts/{account_id}/deprecations/settings",
        "Replaces how an account has what ends.",
        Permission::AccountWrite,
        ResultKind::One(DEPRECATION_SETTINGS),
        |call| Box::pin(put_settings(call)),
    ),
];

const DEPRECATION: &ObjectShape = &ObjectShape {
    name: "Deprecation",
    fields: &[
        field("id", Kind::Text, "The row of the calendar."),
        field(
            "what",
            Kind::Text,
            "What ends: an operation (`route`), a field, a form of a query, and so on.",
        ),
        field("operations", Kind::Texts, "The operations that it is about."),
        field("announced", Kind::Text, "From when its users are told."),
        field("date", Kind::Text, "The first day on which it is no longer served."),
        field("extended", Kind::Any, "The day that took its place."),
        field("removed", Kind::Any, "From when it is as if it had never been."),
        field("days", Kind::Whole, "Days until its end; negative once it has ended."),
        field("replacement", Kind::Text, "What to use in its place."),
        field("successors", Kind::Texts, "Paths of what takes its place."),
        field("mirrored", Kind::Flag, "Whether old and new show each other's changes."),
        field("mode", Kind::Words(MODES), "How it is served."),
        field("documentation", Kind::Any, "A page about it."),
        field("uses", Kind::Whole, "How often it was used in the account."),
        field("last_used", Kind::Any, "When last (RFC 3339)."),
        field("used_by", Kind::Objects(DEPRECATION_USE), "Who used it, the last first."),
    ],
};

const MODES: &[&str] = &["legacy", "warn", "enforce", "gone"];

const DEPRECATION_USE: &ObjectShape = &ObjectShape {
    name: "DeprecationUse",
    fields: &[
        field("token", Kind::Text, "The token, as the history names it."),
        field("user_agent", Kind::Text, "What its client calls itself."),
        field("uses", Kind::Whole, "How often."),
        field("last_used", Kind::Text, "When last (RFC 3339)."),
    ],
};

pub(super) const DEPRECATION_SETTINGS: &ObjectShape = &ObjectShape {
    name: "DeprecationSettings",
    fields: &[
        field("api_version", Kind::Text, "The day at which the calendar is read, in place of today."),
        field("modes", Kind::Any, "Modes by rows: `legacy`, `warn`, `enforce` or `gone`."),
    ],
};

#[derive(Debug, Serialize)]
struct ShownDeprecation<'a> {
    id: &'a str,
    what: &'static str,
    operations: Vec<String>,
    announced: CalendarDate,
    date: CalendarDate,
    extended: Option<CalendarDate>,
    removed: Option<CalendarDate>,
    /// Days until its end; negative once it has ended.
    days: i32,
    replacement: &'a str,
    successors: &'a [String],
    mirrored: bool,
    mode: DeprecationMode,
    documentation: Option<&'a str>,
    #[serde(flatten)]
    used: Option<ShownUses<'a>>,
}

#[derive(Debug, Serialize)]
struct ShownUses<'a> {
    uses: u64,
    last_used: Option<&'a str>,
    used_by: Vec<ShownUse<'a>>,
}

#[derive(Debug, Serialize)]
struct ShownUse<'a> {
    token: &'a str,
    user_agent: &'a str,
    uses: u64,
    last_used: &'a str,
}

/// A row, as it is served to whoever says no more than `account` does.
fn shown<'a>(
    row: &'a DeprecationRow,
    call: &ApiCall,
    account: Option<&DeprecationSettings>,
) -> ShownDeprecation<'a> {
    let calendar = &call.snapshot.deprecations;
    let today = CalendarDate::of_unix(call.unix);
    let settings = [None, account, Some(&calendar.settings)];
    let precedence = deprecations::Precedence { request: None, settings, today };
    ShownDeprecation {
        id: &row.id,
        what: row.what.word(),
        operations: row.operations.iter().map(|(method, path)| format!("{method} {path}")).collect(),
        announced: row.announced,
        date: row.date,
        extended: row.extended,
        removed: row.removed,
        days: today.days_until(row.end()),
        replacement: &row.replacement,
        successors: &row.successors,
        mirrored: row.is_mirrored,
        mode: precedence.mode(row),
        documentation: row.documentation.as_deref(),
        used: None,
    }
}

async fn list(call: ApiCall) -> Answer {
    let rows = call.snapshot.deprecations.schedule.rows();
    ApiReply::of(&rows.iter().map(|row| shown(row, &call, None)).collect::<Vec<_>>())
}

async fn find(call: ApiCall) -> Answer {
    let id = call.parameter("row_id");
    let unknown =
        || ApiError::new(error::NOT_FOUND, format!("there is no row `{id}`; `/deprecations` lists them"));
    let row = call.snapshot.deprecations.schedule.row(id).ok_or_else(unknown)?;
    ApiReply::of(&shown(row, &call, None))
}

/// The settings of an account.
///
/// # Errors
/// If there is no such account.
fn settings_of(resources: &Resources, id: &AccountId, path: &str) -> Result<DeprecationSettings, ApiErrors> {
    let account = accounts::find_account(resources, id).ok_or_else(|| ApiError::unknown(path))?;
    Ok(account.deprecations.as_deref().cloned().unwrap_or_default())
}

async fn of_account(call: ApiCall) -> Answer {
    let account = call.account();
    let settings = settings_of(&call.snapshot.resources, &account, &call.path)?;
    let uses = call.shared.old_uses.clone();
    let uses = tokio::task::spawn_blocking(move || uses.all()).await;
    let failed = || ApiError::new(error::UNAVAILABLE, "uses cannot be read now");
    let uses = uses.ok().and_then(Result::ok).ok_or_else(failed)?;
    let mut by_row = RowUses::by_row(uses.iter().filter(|(key, _)| key.account == account.as_str()));
    let rows = call.snapshot.deprecations.schedule.rows().iter().map(|row| {
        let uses = by_row.remove(row.id.as_str()).unwrap_or_default();
        let used = ShownUses {
            uses: uses.total,
            last_used: uses.last(),
            used_by: uses.by.iter().map(|(key, count)| shown_use(key, count)).collect(),
        };
        ShownDeprecation { used: Some(used), ..shown(row, &call, Some(&settings)) }
    });
    ApiReply::of(&rows.collect::<Vec<_>>())
}

fn shown_use<'a>(key: &'a UseKey, count: &'a UseCount) -> ShownUse<'a> {
    ShownUse { token: &key.token, user_agent: &key.agent, uses: count.uses, last_used: &count.last }
}

/// Reads `deprecations` of a body; what it does not say is not said.
pub(super) fn settings(fields: &Fields<'_>, calendar: &DeprecationCalendar) -> DeprecationSettings {
    fields.object("deprecations").map(|fields| written(&fields, calendar)).unwrap_or_default()
}

fn written(fields: &Fields<'_>, calendar: &DeprecationCalendar) -> DeprecationSettings {
    let api_version = fields.text("api_version").and_then(|text| {
        let day = CalendarDate::parse(text);
        if day.is_none() {
            let message = format!("expected a day such as `2025-06-15`, found `{text:.40}`");
            fields.refuse(error::BAD_FIELD, "api_version", message);
        }
        day
    });
    let modes: Option<BTreeMap<String, DeprecationMode>> = fields.word("modes", error::BAD_FIELD);
    let modes = modes.unwrap_or_default();
    for id in deprecations::unknown_ids(&modes, &calendar.schedule) {
        let message = format!("there is no row `{id:.60}`; `/deprecations` lists them");
        fields.refuse(error::BAD_FIELD, &format!("modes/{id:.60}"), message);
    }
    DeprecationSettings { api_version, modes }
}

async fn show_settings(call: ApiCall) -> Answer {
    ApiReply::of(&settings_of(&call.snapshot.resources, &call.account(), &call.path)?)
}

async fn put_settings(call: ApiCall) -> Answer {
    let calendar = &call.snapshot.deprecations;
    let (settings, unknown) = rule_input::read(&call.body, |fields| Some(written(fields, calendar)))?;
    let (id, path, put) = (call.account(), call.path.clone(), settings.clone());
    call.write(move |resources| {
        let known = accounts::find_account(resources, &id).ok_or_else(|| ApiError::unknown(&path))?;
        let deprecations = (!put.is_empty()).then(|| Box::new(put.clone()));
        if known.deprecations == deprecations {
            return Ok(Vec::new());
        }
        Ok(vec![Change::PutAccount { account: Account { deprecations, ..known } }])
    })
    .await?;
    Ok(ApiReply::of(&settings)?.passing_over(unknown))
}
