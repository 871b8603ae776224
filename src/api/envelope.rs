//! The one shape of every management response (spec, "Conventions"): `result`, `success`,
//! `errors`, `messages`, in this order.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Envelope<T> {
    result: Option<T>,
    success: bool,
    errors: Vec<Item>,
    messages: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_info: Option<ResultInfo>,
}

/// Which page of a list is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paging {
    /// From 1.
    pub(super) page: u32,
    pub(super) per_page: u32,
}

#[derive(Debug, Serialize)]
struct ResultInfo {
    page: u32,
    per_page: u32,
    count: usize,
    total_count: u64,
    total_pages: u64,
}

#[derive(Debug, Serialize)]
struct Item {
    code: u32,
    message: String,
}

/// A response that carries a result.
pub(super) fn result<T: Serialize>(result: T) -> Response {
    json(
        StatusCode::OK,
        &Envelope {
            result: Some(result),
            success: true,
            errors: Vec::new(),
            messages: Vec::new(),
            result_info: None,
        },
    )
}

/// A response that carries a page of a list.
pub(super) fn page<T: Serialize>(items: Vec<T>, paging: Paging, total: u64) -> Response {
    let result_info = Some(ResultInfo {
        page: paging.page,
        per_page: paging.per_page,
        count: items.len(),
        total_count: total,
        total_pages: total.div_ceil(u64::from(paging.per_page.max(1))),
    });
    let (errors, messages) = (Vec::new(), Vec::new());
    json(StatusCode::OK, &Envelope { result: Some(items), success: true, errors, messages, result_info })
}

/// Why the API refused, each with its status and its stable code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    Unauthorized,
    NoSuchRoute,
    NoSuchZone,
    NoSuchRuleset,
    NoSuchLog,
    /// What is asked for cannot be read now.
    Unavailable,
    MethodNotAllowed,
    /// A filter that is not known, or not of its type; which, in words.
    BadQuery(String),
}

impl ApiError {
    fn parts(&self) -> (StatusCode, u32, &str) {
        match self {
            Self::Unauthorized => (StatusCode::FORBIDDEN, 10000, "Authentication error"),
            Self::NoSuchRoute => (StatusCode::NOT_FOUND, 7000, "No route for that URI"),
            Self::NoSuchZone => {
                (StatusCode::NOT_FOUND, 7003, "Could not route to the zone: its identifier is unknown")
            }
            Self::NoSuchRuleset => (StatusCode::NOT_FOUND, 10011, "could not find the ruleset"),
            Self::NoSuchLog => (StatusCode::NOT_FOUND, 7002, "Log not found"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, 10013, "The log cannot be read now"),
            Self::BadQuery(reason) => (StatusCode::BAD_REQUEST, 10006, reason.as_str()),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, 10405, "Method not allowed for this endpoint")
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code, message) = self.parts();
        let errors = vec![Item { code, message: message.to_owned() }];
        json(
            status,
            &Envelope::<()> { result: None, success: false, errors, messages: Vec::new(), result_info: None },
        )
    }
}

fn json<T: Serialize>(status: StatusCode, envelope: &T) -> Response {
    match serde_json::to_string(envelope) {
        Ok(text) => (status, [(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
