//! Bodies and queries of requests: read whole, within bounds, as JSON or as a form.

use axum::body::{Body, to_bytes};
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;

use super::error::{self, ApiError, ApiErrors};

/// Longest body that is taken.
const MAX_BODY_BYTES: usize = 4 << 20;
/// Most fields of a form.
const MAX_FORM_FIELDS: usize = 16;

/// Refuses a body that is not the text itself.
pub(super) fn check_coding(headers: &HeaderMap) -> Result<(), ApiErrors> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let coded = codings.find(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"));
    coded.map_or(Ok(()), |coding| {
        let found = String::from_utf8_lossy(coding.as_bytes());
        let message = format!("send the body as it is, without `Content-Encoding: {found}`");
        Err(ApiError::new(error::CODED_BODY, message).into())
    })
}

pub(super) async fn read(body: Body) -> Result<Vec<u8>, ApiErrors> {
    match to_bytes(body, MAX_BODY_BYTES).await {
        Ok(bytes) => Ok(bytes.into()),
        Err(_) => {
            let message =
                format!("the body has more than {} MiB, or did not come whole", MAX_BODY_BYTES >> 20);
            Err(ApiError::new(error::TOO_LARGE, message).into())
        }
    }
}

pub(super) fn parse(text: &[u8]) -> Result<Value, ApiErrors> {
    if text.trim_ascii().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_slice(text)
        .map_err(|mistake| ApiError::new(error::BAD_BODY, format!("the body is not JSON: {mistake}")).into())
}

/// The fields of a form as an object of texts. A text alone is its field `file`.
pub(super) fn form(headers: &HeaderMap, text: &[u8]) -> Result<Value, ApiErrors> {
    let content_type = headers.get(header::CONTENT_TYPE).map_or(&[][..], HeaderValue::as_bytes);
    let mut fields = serde_json::Map::new();
    let media_type = body::media_type(content_type);
    if body::is_json(media_type) {
        return parse(text);
    }
    let mut add = |name: &[u8], value: &[u8]| {
        let value = std::str::from_utf8(value).map_err(|_| {
            let name = String::from_utf8_lossy(name);
            ApiError::new(error::BAD_BODY, format!("the field `{name:.60}` of the form is not UTF-8"))
        })?;
        fields.insert(String::from_utf8_lossy(name).into_owned(), value.into());
        Ok::<(), ApiErrors>(())
    };
    if !body::is_multipart(media_type) {
        add(b"file", text)?;
        return Ok(Value::Object(fields));
    }
    let malformed = |mistake: body::BodyError| {
        ApiErrors::from(ApiError::new(error::BAD_BODY, format!("the body is not a form: {mistake}")))
    };
    let form = body::multipart::Form::of(content_type, MAX_FORM_FIELDS).map_err(malformed)?;
    let mut outcome = Ok(());
    let read = body::multipart::read(text, form, &mut |part| {
        let added = add(&part.name, part.decoded_content().as_deref().unwrap_or(part.content));
        outcome = std::mem::replace(&mut outcome, Ok(())).and(added);
    });
    read.end.map_err(malformed)?;
    outcome?;
    Ok(Value::Object(fields))
}

/// Names and values of a query.
pub(super) fn form_urlencoded(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let spaced = text.replace('+', " ");
        percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}
