//! The log of a gateway: its rows, and what is kept of their bodies.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use crate::api::envelope::{self, ApiError, Paging};
use crate::api::router::State as Shared;
use model::AiLog;
use store::LogQuery;

const MAX_PER_PAGE: u32 = 50;

/// What a list may be asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::api) struct Asked {
    page: Option<u32>,
    per_page: Option<u32>,
    direction: Option<String>,
    start_date: Option<String>,
    end_date: Option<String>,
    success: Option<bool>,
    cached: Option<bool>,
    provider: Option<String>,
    model: Option<String>,
}

/// `GET /accounts/{account_id}/ai-gateway/gateways/{gateway_id}/logs`: the newest first.
pub(in crate::api) async fn list(
    State(shared): State<Shared>,
    Path((account, gateway)): Path<(String, String)>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(asked) = asked.map_err(|rejection| ApiError::BadQuery(rejection.body_text()))?;
    let paging = Paging {
        page: asked.page.unwrap_or(1).max(1),
        per_page: asked.per_page.unwrap_or(20).clamp(1, MAX_PER_PAGE),
    };
    let query = LogQuery {
        gateway: format!("{account}/{gateway}"),
        skip: u64::from(paging.page - 1) * u64::from(paging.per_page),
        limit: paging.per_page,
        ascending: asked.direction.as_deref() == Some("asc"),
        start_date: asked.start_date,
        end_date: asked.end_date,
        success: asked.success,
        cached: asked.cached,
        provider: asked.provider,
        model: asked.model,
    };
    let (rows, total) = shared.read(move |records| records.page(&query)).await?;
    Ok(envelope::page(rows, paging, total))
}

/// `GET …/logs/{id}`: a row, with what is kept of its bodies.
pub(in crate::api) async fn find(
    State(shared): State<Shared>,
    Path(path): Path<(String, String, String)>,
) -> Result<Response, ApiError> {
    let row = row(&shared, path).await?;
    let (request, response) = (row.request_head.clone(), row.response_head.clone());
    let mut shown = serde_json::to_value(row).map_err(|_| ApiError::Unavailable)?;
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("request_head".to_owned(), request.into());
        fields.insert("response_head".to_owned(), response.into());
    }
    Ok(envelope::result(shown))
}

/// `GET …/logs/{id}/request`: the beginning of what was asked, as it was.
pub(in crate::api) async fn request(
    State(shared): State<Shared>,
    Path(path): Path<(String, String, String)>,
) -> Result<String, ApiError> {
    row(&shared, path).await?.request_head.ok_or(ApiError::NoSuchLog)
}

/// `GET …/logs/{id}/response`: the beginning of what was answered, decoded.
pub(in crate::api) async fn response(
    State(shared): State<Shared>,
    Path(path): Path<(String, String, String)>,
) -> Result<String, ApiError> {
    row(&shared, path).await?.response_head.ok_or(ApiError::NoSuchLog)
}

async fn row(shared: &Shared, (account, gateway, id): (String, String, String)) -> Result<AiLog, ApiError> {
    let found = shared.read(move |records| records.get(&id)).await?;
    found.filter(|row| row.account_id == account && row.gateway_id == gateway).ok_or(ApiError::NoSuchLog)
}
