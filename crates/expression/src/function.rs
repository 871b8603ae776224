//! The functions an expression may call; `any` and `all` are part of the grammar.

use super::value::Scalar::{self, Bool, Int, Text};
use super::value::Value;
use body::urlencoded;

/// What an argument of a function may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    Text,
    Int,
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
    pub(super) call: for<'r> fn(&[Value<'r>]) -> Value<'r>,
}

impl Function {
    const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        result: Scalar,
        call: for<'r> fn(&[Value<'r>]) -> Value<'r>,
    ) -> Self {
        Self { name, parameters, optional: 0, repeats: false, result, call }
    }
}

/// All functions.
pub(super) const FUNCTIONS: &[Function] = &[
    Function { repeats: true, ..Function::new("concat", &[Parameter::Text], Text, concat) },
    Function::new("ends_with", &[Parameter::Text, Parameter::Text], Bool, ends_with),
    Function::new("len", &[Parameter::Sized], Int, len),
    Function::new("lower", &[Parameter::Text], Text, lower),
    Function::new("starts_with", &[Parameter::Text, Parameter::Text], Bool, starts_with),
    Function {
        optional: 1,
        ..Function::new("substring", &[Parameter::Text, Parameter::Int, Parameter::Int], Text, substring)
    },
    Function::new("upper", &[Parameter::Text], Text, upper),
    Function::new("url_decode", &[Parameter::Text], Text, url_decode),
];

fn bytes<'v>(values: &'v [Value<'_>], index: usize) -> &'v [u8] {
    values.get(index).map_or(&[], Value::bytes)
}

fn concat<'r>(values: &[Value<'r>]) -> Value<'r> {
    Value::Text(values.iter().flat_map(Value::bytes).copied().collect::<Vec<u8>>().into())
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
    Value::Text(bytes(values, 0).to_ascii_lowercase().into())
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
    let part = text.get(place(1).unwrap_or(0)..place(2).unwrap_or(text.len())).unwrap_or(&[]);
    Value::Text(part.to_vec().into())
}

fn upper<'r>(values: &[Value<'r>]) -> Value<'r> {
    Value::Text(bytes(values, 0).to_ascii_uppercase().into())
}

fn url_decode<'r>(values: &[Value<'r>]) -> Value<'r> {
    let mut decoded = Vec::new();
    urlencoded::decode(bytes(values, 0), &mut decoded);
    Value::Text(decoded.into())
}
