//! The values of expressions and their types.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

/// What one value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Bool,
    Int,
    Ip,
    Text,
}

/// What a field, a function or a part of one gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    One(Scalar),
    List(Scalar),
    /// Names, each with a list of texts.
    Map,
}

/// Names with what they stand for, in order.
pub(super) type Pairs<'r> = Vec<(Cow<'r, [u8]>, Cow<'r, [u8]>)>;

/// A value of a request; texts are bytes, as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value<'r> {
    /// Of a name that a map does not have, or past the end of a list.
    Missing,
    Bool(bool),
    Int(i64),
    Ip(IpAddr),
    Text(Cow<'r, [u8]>),
    List(Vec<Self>),
    Map(Pairs<'r>),
}

impl<'r> Value<'r> {
    pub(super) fn text(bytes: &'r [u8]) -> Self {
        Self::Text(Cow::Borrowed(bytes))
    }

    /// A number of things; more than can be written down is as many as can.
    pub(super) fn count(count: usize) -> Self {
        Self::Int(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// The same value; a text is borrowed instead of copied.
    pub(super) fn borrowed(&self) -> Value<'_> {
        match self {
            Self::Text(text) => Value::text(text),
            other => other.clone(),
        }
    }

    /// Its bytes; nothing if it is no text.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            _ => &[],
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "true or false",
            Self::Int => "a number",
            Self::Ip => "an address",
            Self::Text => "a text",
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(scalar) => scalar.fmt(f),
            Self::List(_) => f.write_str("a list, of which `[0]` is the first and `[*]` are all"),
            Self::Map => f.write_str("a map, of which `[\"name\"]` gives a list"),
        }
    }
}
