//! The log of a gateway: its rows, and what is kept of their bodies.

use super::{rule_input, shapes};
use crate::api::auth::Permission;
use crate::api::envelope::ApiReply;
use crate::api::error::{self, ApiError, ApiErrors};
use crate::api::operation::{
    Answer, ApiCall, InputShape, Kind, Operation, PAGE, PER_PAGE, QueryParameter, ResultKind, Running, Verb,
};
use model::AiLog;
use serde::Serialize;
use store::{Annotation, LogQuery, TotalsBy};

const MAX_PER_PAGE: u64 = 50;
/// Most values of one answer.
const MAX_TOTALS: u64 = 1_000;

const fn parameter(name: &'static str, kind: Kind, doc: &'static str) -> QueryParameter {
    QueryParameter { name, kind, doc }
}

const START_DATE: QueryParameter = parameter("start_date", Kind::Text, "Only rows from then on (RFC 3339).");
const END_DATE: QueryParameter = parameter("end_date", Kind::Text, "Only rows before (RFC 3339).");
const SUCCESS: QueryParameter = parameter("success", Kind::Flag, "Only calls that succeeded, or did not.");
const CACHED: QueryParameter = parameter("cached", Kind::Flag, "Only answers that were kept, or were not.");
const PROVIDER: QueryParameter = parameter("provider", Kind::Text, "Only calls of this provider.");
const MODEL: QueryParameter = parameter("model", Kind::Text, "Only calls of this model.");

const FILTERS: &[QueryParameter] = &[
    PAGE,
    PER_PAGE,
    parameter("direction", Kind::Words(&["asc", "desc"]), "Which end is first."),
    parameter("order_by", Kind::Words(&["created_at"]), "By what rows are sorted."),
    parameter(
        "order_by_direction",
        Kind::Words(&["asc", "desc"]),
        "Which end is first, as other clients write it.",
    ),
    START_DATE,
    END_DATE,
    SUCCESS,
    CACHED,
    PROVIDER,
    MODEL,
];

const TOTALS: &[QueryParameter] = &[
    PER_PAGE,
    parameter(
        "by",
        Kind::Text,
        "`token` (the default), `provider`, `model`, `operation`, `route`, `status`, `day`, `hour` or `metadata.KEY`.",
    ),
    START_DATE,
    END_DATE,
    SUCCESS,
    CACHED,
    PROVIDER,
    MODEL,
];

const fn read(
    path: &'static str,
    summary: &'static str,
    query: &'static [QueryParameter],
    output: ResultKind,
    run: fn(ApiCall) -> Running,
) -> Operation {
    let permission = Permission::GatewaysRead;
    Operation { verb: Verb::Get, path, summary, permission, query, input: None, output, run }
}

/// Most rows that one request deletes.
const MAX_DELETED: u32 = 10_000;

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        verb: Verb::Patch,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs/{id}",
        summary: "Writes `feedback`, `score` and `metadata` into the row of a call.",
        permission: Permission::GatewaysWrite,
        query: &[],
        input: Some(InputShape::Object(shapes::LOG_ANNOTATION)),
        output: ResultKind::One(shapes::LOG),
        run: |call| Box::pin(annotate(call)),
    },
    Operation {
        verb: Verb::Delete,
        path: "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs",
        summary: "Deletes rows, the oldest first, up to ten thousand.",
        permission: Permission::GatewaysWrite,
        query: FILTERS,
        input: None,
        output: ResultKind::One(shapes::DELETED_ROWS),
        run: |call| Box::pin(delete(call)),
    },
    read(
        "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs",
        "Lists the calls of a gateway, the newest first.",
        FILTERS,
        ResultKind::List(shapes::LOG),
        |call| Box::pin(list(call)),
    ),
    read(
        "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/usage",
        "Adds up the calls of a gateway by token, model, team or time, the dearest first.",
        TOTALS,
        ResultKind::List(shapes::CALL_TOTALS),
        |call| Box::pin(totals(call)),
    ),
    read(
        "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs/{id}",
        "Shows a call, with what is kept of its bodies.",
        &[],
        ResultKind::One(shapes::LOG),
        |call| Box::pin(find(call)),
    ),
    read(
        "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs/{id}/request",
        "Shows the beginning of what was asked, as it was.",
        &[],
        ResultKind::Text("text/plain; charset=utf-8"),
        |call| Box::pin(async move { body(row(&call).await?.request_head) }),
    ),
    read(
        "/accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs/{id}/response",
        "Shows the beginning of what was answered, decoded.",
        &[],
        ResultKind::Text("text/plain; charset=utf-8"),
        |call| Box::pin(async move { body(row(&call).await?.response_head) }),
    ),
];

fn unknown() -> ApiErrors {
    ApiError::new(error::NOT_FOUND, "Log not found").into()
}

/// The rows that the parameters of a request name.
fn query(call: &ApiCall, skip: u64, limit: u32) -> Result<LogQuery, ApiErrors> {
    let text = |name: &str| call.asked(name).map(str::to_owned);
    let direction = call.asked("direction").or_else(|| call.asked("order_by_direction"));
    Ok(LogQuery {
        gateway: format!("{}/{}", call.parameter("account_id"), call.parameter("gateway_id")),
        skip,
        limit,
        ascending: direction == Some("asc"),
        start_date: text("start_date"),
        end_date: text("end_date"),
        success: call.flag("success")?,
        cached: call.flag("cached")?,
        provider: text("provider"),
        model: text("model"),
    })
}

async fn list(call: ApiCall) -> Answer {
    let paging = call.paging(20, MAX_PER_PAGE)?;
    let query = query(&call, paging.skipped(), u32::try_from(paging.per_page).unwrap_or(u32::MAX))?;
    let (rows, total) = call.shared.read(move |records| records.page(&query)).await?;
    ApiReply::page(&rows, paging.info(rows.len(), total))
}

async fn totals(call: ApiCall) -> Answer {
    let paging = call.paging(20, MAX_TOTALS)?;
    let by = TotalsBy::parse(call.asked("by").unwrap_or("token"));
    let by = by.map_err(|message| ApiError::new(error::BAD_QUERY, format!("`by`: {message}")))?;
    let query = query(&call, 0, u32::try_from(paging.per_page).unwrap_or(u32::MAX))?;
    let found = call.shared.read(move |records| records.totals(&query, &by)).await?;
    ApiReply::of(&found)
}

async fn annotate(call: ApiCall) -> Answer {
    let (annotation, unknown) = rule_input::read(&call.body, |fields| {
        let score = fields.value("score").and_then(serde_json::Value::as_f64);
        if fields.value("score").is_some() && score.is_none() {
            fields.refuse(error::BAD_FIELD, "score", "expected a number for `score`");
        }
        Some(Annotation {
            feedback: fields.within("feedback", -1..=1),
            score,
            metadata: fields.object("metadata").and_then(|_| Some(fields.value("metadata")?.to_string())),
        })
    })?;
    let id = row(&call).await?.id;
    call.shared.read(move |records| records.annotate(&id, &annotation)).await?;
    Ok(ApiReply::of(&row(&call).await?)?.passing_over(unknown))
}

#[derive(Debug, Serialize)]
struct DeletedRows {
    deleted: u64,
}

async fn delete(call: ApiCall) -> Answer {
    let query = query(&call, 0, MAX_DELETED)?;
    let deleted = call.shared.read(move |records| records.delete(&query)).await?;
    ApiReply::of(&DeletedRows { deleted })
}

async fn find(call: ApiCall) -> Answer {
    let row = row(&call).await?;
    let (request, response) = (row.request_head.clone(), row.response_head.clone());
    let failed = |error: serde_json::Error| ApiError::new(error::UNAVAILABLE, error.to_string());
    let mut shown = serde_json::to_value(row).map_err(failed)?;
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("request_head".to_owned(), request.into());
        fields.insert("response_head".to_owned(), response.into());
    }
    ApiReply::of(&shown)
}

fn body(head: Option<String>) -> Answer {
    Ok(ApiReply::text("text/plain; charset=utf-8", head.ok_or_else(unknown)?))
}

async fn row(call: &ApiCall) -> Result<AiLog, ApiErrors> {
    let id = call.parameter("id").to_owned();
    let found = call.shared.read(move |records| records.get(&id)).await?;
    let (account, gateway) = (call.parameter("account_id"), call.parameter("gateway_id"));
    let is_mine = |row: &AiLog| row.account_id == account && row.gateway_id == gateway;
    found.filter(is_mine).ok_or_else(unknown)
}
