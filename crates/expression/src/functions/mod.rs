//! The functions an expression may call; `any` and `all` are part of the grammar.

mod hash;
mod json;
mod wildcard;

pub(super) use wildcard::filled;

use std::borrow::Cow;
use std::net::IpAddr;

use ipnet::IpNet;

use super::value::Scalar::{self, Bool, Int, Ip, Text};
use super::value::Value;
use body::urlencoded;

/// What an argument of a function may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    Text,
    Int,
    Ip,
    /// A text or a number.
    Key,
    /// A number, an address, or true or false.
    Scalar,
    /// A list of texts.
    Texts,
    /// A text, a list or a map.
    Sized,
}

/// One function. It is called with as many values as it takes, none of them missing.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [Parameter],
    /// How many of the parameters may be left out.
    pub(super) optional: usize,
    /// Whether the last parameter may be given again and again.
    pub(super) repeats: bool,
    pub(super) result: Scalar,
    /// Whether it gives a list of those.
    pub(super) gives_list: bool,
    pub(super) call: for<'r> fn(&[Value<'r>]) -> Value<'r>,
}

impl Function {
    const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        result: Scalar,
        call: for<'r> fn(&[Value<'r>]) -> Value<'r>,
    ) -> Self {
        Self { name, parameters, optional: 0, repeats: false, result, gives_list: false, call }
    }
}

/// All functions.
pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        optional: 1,
        ..Function::new("cidr", &[Parameter::Ip, Parameter::Int, Parameter::Int], Ip, cidr)
    },
    Function { repeats: true, ..Function::new("concat", &[Parameter::Text], Text, concat) },
    Function {
        optional: 1,
        ..Function::new("encode_base64", &[Parameter::Text, Parameter::Text], Text, hash::encode_base64)
    },
    Function::new("ends_with", &[Parameter::Text, Parameter::Text], Bool, ends_with),
    Function {
        optional: 2,
        ..Function::new("is_timed_hmac_valid_v0", TIMED_HMAC, Bool, hash::is_timed_hmac_valid)
    },
    Function::new("join", &[Parameter::Texts, Parameter::Text], Text, join),
    Function::new("len", &[Parameter::Sized], Int, len),
    Function {
        repeats: true,
        ..Function::new("lookup_json_integer", JSON_PLACE, Int, json::lookup_json_integer)
    },
    Function {
        repeats: true,
        ..Function::new("lookup_json_string", JSON_PLACE, Text, json::lookup_json_string)
    },
    Function::new("lower", &[Parameter::Text], Text, lower),
    Function::new("remove_bytes", &[Parameter::Text, Parameter::Text], Text, remove_bytes),
    Function::new("sha256", &[Parameter::Text], Text, hash::sha256),
    Function {
        optional: 1,
        gives_list: true,
        ..Function::new("split", &[Parameter::Text, Parameter::Text, Parameter::Int], Text, split)
    },
    Function::new("starts_with", &[Parameter::Text, Parameter::Text], Bool, starts_with),
    Function {
        optional: 1,
        ..Function::new("substring", &[Parameter::Text, Parameter::Int, Parameter::Int], Text, substring)
    },
    Function::new("to_string", &[Parameter::Scalar], Text, to_string),
    Function::new("upper", &[Parameter::Text], Text, upper),
    Function::new("url_decode", &[Parameter::Text], Text, url_decode),
    Function::new("uuidv4", &[Parameter::Text], Text, hash::uuidv4),
    Function {
        optional: 1,
        ..Function::new("wildcard_replace", &[Parameter::Text; 4], Text, wildcard::wildcard_replace)
    },
];

const JSON_PLACE: &[Parameter] = &[Parameter::Text, Parameter::Key];
const TIMED_HMAC: &[Parameter] =
    &[Parameter::Text, Parameter::Text, Parameter::Int, Parameter::Int, Parameter::Int, Parameter::Text];

fn bytes<'v>(values: &'v [Value<'_>], index: usize) -> &'v [u8] {
    values.get(index).map_or(&[], Value::bytes)
}

fn concat<'r>(values: &[Value<'r>]) -> Value<'r> {
    Value::Text(values.iter().flat_map(Value::bytes).copied().collect::<Vec<u8>>().into())
}

/// The network of an address. The second value is the length of its prefix for IPv4, the third that for IPv6.
fn cidr<'r>(values: &[Value<'r>]) -> Value<'r> {
    let Some(Value::Ip(address)) = values.first() else { return Value::Missing };
    let bits = match (address, values.get(1), values.get(2)) {
        (IpAddr::V4(_), Some(Value::Int(bits)), _) | (IpAddr::V6(_), _, Some(Value::Int(bits))) => *bits,
        // Without a number for IPv6, all of its address.
        _ => 128,
    };
    let network = u8::try_from(bits).ok().and_then(|bits| IpNet::new(*address, bits).ok());
    network.map_or(Value::Missing, |network| Value::Ip(network.network()))
}

/// The texts of a list, with another between them.
fn join<'r>(values: &[Value<'r>]) -> Value<'r> {
    let Some(Value::List(list)) = values.first() else { return Value::Missing };
    let texts: Vec<&[u8]> = list.iter().map(Value::bytes).collect();
    Value::Text(texts.join(bytes(values, 1)).into())
}

/// A text without any of the bytes of another.
fn remove_bytes<'r>(values: &[Value<'r>]) -> Value<'r> {
    let taken = bytes(values, 1);
    let left = bytes(values, 0).iter().copied().filter(|byte| !taken.contains(byte));
    Value::Text(left.collect::<Vec<u8>>().into())
}

/// Splits a text at a separator. The third value is the highest number of parts; the last part keeps what is left.
fn split<'r>(values: &[Value<'r>]) -> Value<'r> {
    let (text, separator) = (bytes(values, 0), bytes(values, 1));
    let most = match values.get(2) {
        Some(Value::Int(most)) => usize::try_from(*most).unwrap_or(0).clamp(1, MAX_PARTS),
        _ => MAX_PARTS,
    };
    let part = |bytes: &[u8]| Value::Text(bytes.to_vec().into());
    let (mut parts, mut from) = (Vec::new(), 0);
    let ends = memchr::memmem::find_iter(text, separator).filter(|_| !separator.is_empty());
    for end in ends.take(most - 1) {
        parts.push(part(text.get(from..end).unwrap_or(&[])));
        from = end + separator.len();
    }
    parts.push(part(text.get(from..).unwrap_or(&[])));
    Value::List(parts)
}

/// Most parts that a text is split into.
const MAX_PARTS: usize = 128;

fn to_string<'r>(values: &[Value<'r>]) -> Value<'r> {
    let text = match values.first() {
        Some(Value::Int(number)) => number.to_string(),
        Some(Value::Bool(is)) => is.to_string(),
        Some(Value::Ip(address)) => address.to_string(),
        _ => return Value::Missing,
    };
    Value::Text(text.into_bytes().into())
}

fn ends_with<'r>(values: &[Value<'r>]) -> Value<'r> {
    Value::Bool(bytes(values, 0).ends_with(bytes(values, 1)))
}

/// Bytes of a text, entries of a list or a map.
fn len<'r>(values: &[Value<'r>]) -> Value<'r> {
    Value::count(match values.first() {
        Some(Value::List(list)) => list.len(),
        Some(Value::Map(map)) => map.len(),
        _ => bytes(values, 0).len(),
    })
}

fn lower<'r>(values: &[Value<'r>]) -> Value<'r> {
    match values.first() {
        Some(text) if !text.bytes().iter().any(u8::is_ascii_uppercase) => text.clone(),
        _ => Value::Text(bytes(values, 0).to_ascii_lowercase().into()),
    }
}

fn starts_with<'r>(values: &[Value<'r>]) -> Value<'r> {
    Value::Bool(bytes(values, 0).starts_with(bytes(values, 1)))
}

/// From a byte up to, not with, another; negative ones count from the end.
fn substring<'r>(values: &[Value<'r>]) -> Value<'r> {
    let text = bytes(values, 0);
    let place = |index: usize| match values.get(index) {
        Some(Value::Int(at)) => {
            let distance = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
            Some(if *at < 0 { text.len().saturating_sub(distance) } else { distance.min(text.len()) })
        }
        _ => None,
    };
    let span = place(1).unwrap_or(0)..place(2).unwrap_or(text.len());
    match values.first() {
        Some(Value::Text(Cow::Borrowed(text))) => Value::text(text.get(span).unwrap_or(&[])),
        _ => Value::Text(text.get(span).unwrap_or(&[]).to_vec().into()),
    }
}

fn upper<'r>(values: &[Value<'r>]) -> Value<'r> {
    match values.first() {
        Some(text) if !text.bytes().iter().any(u8::is_ascii_lowercase) => text.clone(),
        _ => Value::Text(bytes(values, 0).to_ascii_uppercase().into()),
    }
}

fn url_decode<'r>(values: &[Value<'r>]) -> Value<'r> {
    match values.first() {
        Some(text) if !urlencoded::needs_decoding(text.bytes()) => text.clone(),
        _ => {
            let mut decoded = Vec::new();
            urlencoded::decode(bytes(values, 0), &mut decoded);
            Value::Text(decoded.into())
        }
    }
}

#[cfg(test)]
mod tests;
