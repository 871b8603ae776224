//! The one shape of every management response (spec, "Conventions"): `result`, `success`, `errors`, `messages`, in this
//! order, without spaces, because shell clients search the text.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, ETAG, HeaderValue};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;

use super::error::{ApiError, ApiErrors, BAD_FIELD, UNAVAILABLE};

#[derive(Debug, Serialize)]
struct Envelope<'a> {
    result: Option<&'a RawValue>,
    success: bool,
    errors: &'a [Item],
    messages: &'a [Item],
    #[serde(skip_serializing_if = "Option::is_none")]
    result_info: Option<AboutList>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a RawValue>,
}

/// Where clients of some resources look for a result beside `result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecondName {
    Data,
    Route,
}

/// What a page of a list is part of.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ResultInfo {
    pub(super) page: u64,
    pub(super) per_page: u64,
    pub(super) count: usize,
    pub(super) total_count: u64,
    /// At least 1.
    pub(super) total_pages: u64,
}

/// Where the pages around one begin, in lists whose pages follow each other by cursors.
#[derive(Debug, Serialize)]
struct Cursors {
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// What the answer to a list says besides the list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum AboutList {
    Page(ResultInfo),
    Cursors { cursors: Cursors },
}

/// An error, or something that a client should know.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Item {
    code: u32,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Pointer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    error_chain: Vec<Cause>,
}

#[derive(Clone, Debug, Serialize)]
struct Pointer {
    pointer: String,
}

#[derive(Clone, Debug, Serialize)]
struct Cause {
    code: u32,
    message: Cow<'static, str>,
}

impl Item {
    pub(super) fn new(code: u32, message: String) -> Self {
        Self { code, message, documentation_url: None, source: None, error_chain: Vec::new() }
    }

    /// With a page that says more, and the place in the body that it is about.
    pub(super) fn about(self, documentation: Option<String>, pointer: Option<String>) -> Self {
        let source = pointer.map(|pointer| Pointer { pointer });
        Self { documentation_url: documentation, source, ..self }
    }

    pub(super) fn of_error(error: &ApiError) -> Self {
        Self {
            code: error.code.code,
            message: error.message.clone(),
            documentation_url: error.documentation.clone(),
            source: error.pointer.clone().map(|pointer| Pointer { pointer }),
            error_chain: error
                .chain
                .iter()
                .map(|(code, message)| Cause { code: *code, message: message.clone() })
                .collect(),
        }
    }
}

/// An answer that is no error.
#[derive(Debug, Default)]
pub(super) struct ApiReply {
    result: Option<Box<RawValue>>,
    result_info: Option<AboutList>,
    second: Option<(SecondName, Box<RawValue>)>,
    pub(super) messages: Vec<Item>,
    status: StatusCode,
    headers: HeaderMap,
    /// In place of an envelope.
    text: Option<(&'static str, String)>,
}

impl ApiReply {
    /// With a result.
    ///
    /// # Errors
    /// Never in practice: results are structs of texts and numbers.
    pub(super) fn of<T: Serialize>(result: &T) -> Result<Self, ApiErrors> {
        let text = serde_json::value::to_raw_value(result)
            .map_err(|error| ApiError::new(UNAVAILABLE, error.to_string()))?;
        Ok(Self { result: Some(text), ..Self::default() })
    }

    /// With a value beside the result.
    ///
    /// # Errors
    /// As of [`ApiReply::of`].
    pub(super) fn also_as<T: Serialize>(self, name: SecondName, value: &T) -> Result<Self, ApiErrors> {
        let text = Self::of(value)?.result;
        Ok(Self { second: text.map(|text| (name, text)), ..self })
    }

    /// With a page of a list.
    ///
    /// # Errors
    /// As of [`ApiReply::of`].
    pub(super) fn page<T: Serialize>(items: &[T], result_info: ResultInfo) -> Result<Self, ApiErrors> {
        Ok(Self { result_info: Some(AboutList::Page(result_info)), ..Self::of(&items)? })
    }

    /// With a part of a list, and the cursor of the part that follows.
    ///
    /// # Errors
    /// As of [`ApiReply::of`].
    pub(super) fn part<T: Serialize>(items: &[T], after: Option<String>) -> Result<Self, ApiErrors> {
        let cursors = Cursors { after };
        Ok(Self { result_info: Some(AboutList::Cursors { cursors }), ..Self::of(&items)? })
    }

    /// 204, without a body.
    pub(super) fn no_content() -> Self {
        Self { status: StatusCode::NO_CONTENT, ..Self::default() }
    }

    /// A text of a media type, without an envelope.
    pub(super) fn text(media_type: &'static str, text: String) -> Self {
        Self { text: Some((media_type, text)), ..Self::default() }
    }

    /// With the revision that a resource is at, as its entity tag.
    #[must_use]
    pub(super) fn tagged(mut self, revision: Option<u64>) -> Self {
        let tag = revision.and_then(|revision| HeaderValue::try_from(format!("\"{revision}\"")).ok());
        if let Some(tag) = tag {
            self.headers.insert(ETAG, tag);
        }
        self
    }

    /// With a message for each field of the request's body that is not known, by its JSON pointer.
    #[must_use]
    pub(super) fn passing_over(mut self, unknown: Vec<String>) -> Self {
        let message =
            |pointer: String| format!("the field `{pointer}` is not known here and was passed over");
        self.messages =
            unknown.into_iter().map(|pointer| Item::new(BAD_FIELD.code, message(pointer))).collect();
        self
    }
}

impl IntoResponse for ApiReply {
    fn into_response(self) -> Response {
        let Self { result, result_info, second, messages, status, headers, text } = self;
        let mut response = match text {
            Some((media_type, text)) => (status, [(CONTENT_TYPE, media_type)], text).into_response(),
            None if status == StatusCode::NO_CONTENT => status.into_response(),
            None => {
                let result = result.as_deref();
                let (errors, messages) = (&[][..], messages.as_slice());
                let named =
                    |asked| second.as_ref().filter(|(name, _)| *name == asked).map(|(_, text)| &**text);
                let (data, route) = (named(SecondName::Data), named(SecondName::Route));
                json(status, &Envelope { result, success: true, errors, messages, result_info, data, route })
            }
        };
        response.headers_mut().extend(headers);
        response
    }
}

/// A response without a result, for these reasons.
pub(super) fn failure(status: StatusCode, errors: &[Item]) -> Response {
    let (result, messages, result_info) = (None, &[][..], None);
    let (data, route) = (None, None);
    json(status, &Envelope { result, success: false, errors, messages, result_info, data, route })
}

fn json(status: StatusCode, envelope: &Envelope<'_>) -> Response {
    match serde_json::to_string(envelope) {
        Ok(text) => (status, [(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
