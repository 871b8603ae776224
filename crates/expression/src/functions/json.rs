//! Values in texts that are JSON.

use serde_json::Value as Json;

use crate::value::Value;

/// What stands in a text under keys and numbers, one behind the other.
fn find(values: &[Value<'_>]) -> Option<Json> {
    let (text, keys) = values.split_first()?;
    // The reader nests 128 levels at most. A text is a part of a head, or a body that is held within its limits.
    let mut json: Json = serde_json::from_slice(text.bytes()).ok()?;
    for key in keys {
        json = match (json, key) {
            (Json::Object(mut object), Value::Text(name)) => {
                object.remove(std::str::from_utf8(name).ok()?)?
            }
            (Json::Array(mut list), Value::Int(at)) => {
                let at = usize::try_from(*at).ok().filter(|at| *at < list.len())?;
                list.swap_remove(at)
            }
            _ => return None,
        };
    }
    Some(json)
}

pub(super) fn lookup_json_string<'r>(values: &[Value<'r>]) -> Value<'r> {
    match find(values) {
        Some(Json::String(text)) => Value::Text(text.into_bytes().into()),
        _ => Value::Missing,
    }
}

/// A whole number; none of those with a fraction or of more than 64 bits.
pub(super) fn lookup_json_integer<'r>(values: &[Value<'r>]) -> Value<'r> {
    match find(values) {
        Some(Json::Number(number)) => number.as_i64().map_or(Value::Missing, Value::Int),
        _ => Value::Missing,
    }
}
