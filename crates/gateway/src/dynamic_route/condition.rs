//! Conditions on calls, in the form of queries of a document database: `{"metadata.plan": {"$in": ["free", "trial"]}}`.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::field_path::{FieldPath, RouteFacts};
use super::graph::{Faults, RouteFault};

/// Deepest nesting of conditions.
const MAX_DEPTH: usize = 8;
/// Most values of `$in` and `$nin`.
const MAX_VALUES: usize = 1_000;
const OPERATORS: &str =
    "`$eq`, `$ne`, `$in`, `$nin`, `$gt`, `$gte`, `$lt`, `$lte`, `$exists`, `$not`, `$and`, `$or` and `$nor`";

/// What is asked of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RouteCondition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Field(FieldPath, RouteTest),
}

/// What is asked of a value, which may be missing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RouteTest {
    /// One of these.
    Among(Vec<Value>),
    /// In one of these orders to a number or text.
    Ordered(&'static [Ordering], Value),
    Exists(bool),
}

impl RouteCondition {
    /// Reads a condition at a pointer. One with faults is found as one that always holds.
    pub(super) fn parse(value: &Value, pointer: &str, depth: usize, faults: &mut Faults) -> Self {
        let Value::Object(members) = value else {
            faults.push(RouteFault::new(pointer, "expected an object of conditions"));
            return Self::All(Vec::new());
        };
        if depth == MAX_DEPTH {
            faults.push(RouteFault::new(pointer, format!("conditions nest at most {MAX_DEPTH} deep")));
            return Self::All(Vec::new());
        }
        let each = |(name, value): (&String, &Value)| {
            let pointer = format!("{pointer}/{name}");
            match name.as_str() {
                "$and" => Self::All(Self::list(value, &pointer, depth, faults)),
                "$or" => Self::Any(Self::list(value, &pointer, depth, faults)),
                "$nor" => Self::Not(Box::new(Self::Any(Self::list(value, &pointer, depth, faults)))),
                "$not" => Self::Not(Box::new(Self::parse(value, &pointer, depth + 1, faults))),
                _ => match FieldPath::parse(name) {
                    Some(field) => Self::of_field(&field, value, &pointer, depth, faults),
                    None => {
                        let message = format!(
                            "expected `metadata.KEY`, `headers.NAME`, `body.MEMBER`, `token` or an operator, found `{name}`"
                        );
                        faults.push(RouteFault::new(&pointer, message));
                        Self::All(Vec::new())
                    }
                },
            }
        };
        Self::All(members.iter().map(each).collect())
    }

    fn list(value: &Value, pointer: &str, depth: usize, faults: &mut Faults) -> Vec<Self> {
        let Some(list) = value.as_array().filter(|list| !list.is_empty() && list.len() <= MAX_VALUES) else {
            faults.push(RouteFault::new(pointer, "expected a list of conditions"));
            return Vec::new();
        };
        let of = |(nth, value)| Self::parse(value, &format!("{pointer}/{nth}"), depth + 1, faults);
        list.iter().enumerate().map(of).collect()
    }

    /// What is asked of one field: operators, or the value that it has to be.
    fn of_field(field: &FieldPath, value: &Value, pointer: &str, depth: usize, faults: &mut Faults) -> Self {
        let operators = value.as_object().filter(|members| members.keys().all(|name| name.starts_with('$')));
        match operators {
            Some(members) => Self::operators(field, members, pointer, depth, faults),
            None => Self::Field(field.clone(), RouteTest::Among(vec![value.clone()])),
        }
    }

    fn operators(
        field: &FieldPath,
        members: &Map<String, Value>,
        pointer: &str,
        depth: usize,
        faults: &mut Faults,
    ) -> Self {
        use Ordering::{Equal, Greater, Less};
        if members.is_empty() || depth == MAX_DEPTH {
            faults.push(RouteFault::new(pointer, format!("expected one of {OPERATORS}")));
        }
        let is = |test| Self::Field(field.clone(), test);
        let each = |(name, value): (&String, &Value)| {
            let pointer = format!("{pointer}/{name}");
            let mut ordered = |orders| {
                if !value.is_number() && !value.is_string() {
                    faults.push(RouteFault::new(&pointer, "expected a number or a text"));
                }
                is(RouteTest::Ordered(orders, value.clone()))
            };
            match name.as_str() {
                "$eq" => is(RouteTest::Among(vec![value.clone()])),
                "$ne" => Self::Not(Box::new(is(RouteTest::Among(vec![value.clone()])))),
                "$gt" => ordered(&[Greater]),
                "$gte" => ordered(&[Greater, Equal]),
                "$lt" => ordered(&[Less]),
                "$lte" => ordered(&[Less, Equal]),
                "$in" | "$nin" => {
                    let list = value.as_array().filter(|list| list.len() <= MAX_VALUES);
                    if list.is_none() {
                        let message = format!("expected a list of at most {MAX_VALUES} values");
                        faults.push(RouteFault::new(&pointer, message));
                    }
                    let among = is(RouteTest::Among(list.cloned().unwrap_or_default()));
                    if name == "$in" { among } else { Self::Not(Box::new(among)) }
                }
                "$exists" => {
                    if !value.is_boolean() {
                        faults.push(RouteFault::new(&pointer, "expected `true` or `false`"));
                    }
                    is(RouteTest::Exists(value.as_bool().unwrap_or(true)))
                }
                "$not" => match value.as_object() {
                    Some(members) if depth < MAX_DEPTH => {
                        Self::Not(Box::new(Self::operators(field, members, &pointer, depth + 1, faults)))
                    }
                    _ => {
                        faults.push(RouteFault::new(&pointer, format!("expected an object of {OPERATORS}")));
                        Self::All(Vec::new())
                    }
                },
                _ => {
                    faults.push(RouteFault::new(
                        &pointer,
                        format!("expected one of {OPERATORS}, found `{name}`"),
                    ));
                    Self::All(Vec::new())
                }
            }
        };
        Self::All(members.iter().map(each).collect())
    }

    pub(super) fn holds(&self, facts: &RouteFacts<'_>) -> bool {
        match self {
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds(facts)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.holds(facts)),
            Self::Not(condition) => !condition.holds(facts),
            Self::Field(field, test) => test.holds(field.value(facts).as_deref(), field.is_of_head()),
        }
    }

    pub(super) fn reads_body(&self) -> bool {
        match self {
            Self::All(conditions) | Self::Any(conditions) => conditions.iter().any(Self::reads_body),
            Self::Not(condition) => condition.reads_body(),
            Self::Field(field, _) => field.is_of_body(),
        }
    }
}

impl RouteTest {
    /// `is_text` says that numbers come as texts.
    fn holds(&self, value: Option<&Value>, is_text: bool) -> bool {
        match self {
            Self::Exists(expected) => value.is_some() == *expected,
            // A member that is missing is like `null`.
            Self::Among(values) => {
                values.iter().any(|other| is_equal(value.unwrap_or(&Value::Null), other, is_text))
            }
            Self::Ordered(orders, other) => value
                .and_then(|value| order(value, other, is_text))
                .is_some_and(|order| orders.contains(&order)),
        }
    }
}

/// Whether a value is another one. A list is also what one of its elements is.
fn is_equal(value: &Value, other: &Value, is_text: bool) -> bool {
    let is_element =
        || value.as_array().is_some_and(|list| list.iter().any(|element| is_equal(element, other, is_text)));
    value == other || order(value, other, is_text) == Some(Ordering::Equal) || is_element()
}

/// The order of two numbers or two texts.
fn order(value: &Value, other: &Value, is_text: bool) -> Option<Ordering> {
    match (value, other) {
        (Value::Number(value), Value::Number(other)) => value.as_f64()?.partial_cmp(&other.as_f64()?),
        (Value::String(value), Value::Number(other)) if is_text => {
            value.trim().parse::<f64>().ok()?.partial_cmp(&other.as_f64()?)
        }
        (Value::String(value), Value::String(other)) => Some(value.cmp(other)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use serde_json::json;

    use super::*;
    use crate::metadata::Metadata;

    fn holds(condition: &Value) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert("x-tier", HeaderValue::from_static("7"));
        let metadata = Metadata::parse(r#"{"plan":"free","seats":10,"beta":true}"#);
        let body = json!({"max_tokens": 100, "tools": ["search", "code"], "user": {"id": "u1"}});
        let facts = RouteFacts { metadata: &metadata, headers: &headers, body: &body, token: None };
        let mut faults = Faults::default();
        let parsed = RouteCondition::parse(condition, "", 0, &mut faults);
        assert!(faults.is_empty(), "{condition}: {faults:?}");
        parsed.holds(&facts)
    }

    #[test]
    fn each_operator() {
        let rows = [
            (json!({}), true),
            (json!({"metadata.plan": "free"}), true),
            (json!({"metadata.plan": {"$eq": "paid"}}), false),
            (json!({"metadata.plan": {"$ne": "paid"}}), true),
            (json!({"metadata.none": {"$ne": "paid"}}), true),
            (json!({"metadata.none": "paid"}), false),
            (json!({"metadata.none": null}), true),
            (json!({"metadata.plan": null}), false),
            (json!({"metadata.plan": {"$in": ["trial", "free"]}}), true),
            (json!({"metadata.plan": {"$nin": ["trial", "free"]}}), false),
            (json!({"metadata.none": {"$nin": ["free"]}}), true),
            (json!({"metadata.seats": {"$gt": 9, "$lte": 10}}), true),
            (json!({"metadata.seats": {"$gte": 10.0}}), true),
            (json!({"metadata.seats": 10.0}), true),
            (json!({"metadata.seats": {"$lt": 10}}), false),
            (json!({"metadata.seats": {"$lt": "9"}}), false),
            (json!({"metadata.none": {"$lt": 9}}), false),
            (json!({"metadata.plan": {"$gt": "a", "$lt": "g"}}), true),
            (json!({"metadata.plan": {"$exists": true}}), true),
            (json!({"metadata.none": {"$exists": false}}), true),
            (json!({"metadata.plan": {"$exists": false}}), false),
            (json!({"metadata.beta": true}), true),
            (json!({"metadata.beta": "true"}), false),
            (json!({"headers.x-tier": "7"}), true),
            (json!({"headers.X-Tier": {"$gte": 7}}), true),
            (json!({"headers.x-tier": {"$gt": 10}}), false),
            (json!({"body.max_tokens": {"$lte": 100}}), true),
            (json!({"body.tools": "code"}), true),
            (json!({"body.tools": "none"}), false),
            (json!({"body.user": {"id": "u1"}}), true),
            (json!({"body.user.id": {"$not": {"$eq": "u1"}}}), false),
            (json!({"$and": [{"metadata.plan": "free"}, {"metadata.seats": 1}]}), false),
            (json!({"$or": [{"metadata.plan": "free"}, {"metadata.seats": 1}]}), true),
            (json!({"$nor": [{"metadata.plan": "free"}, {"metadata.seats": 1}]}), false),
            (json!({"$not": {"metadata.plan": "free"}}), false),
            (json!({"metadata.plan": "free", "metadata.seats": 1}), false),
            (json!({"token": {"$exists": false}}), true),
        ];
        for (condition, expected) in rows {
            assert_eq!(holds(&condition), expected, "{condition}");
        }
    }

    #[test]
    fn what_is_no_condition_is_said_with_its_place() {
        let nested = (0..9).fold(json!({"token": "t"}), |inner, _| json!({ "$not": inner }));
        let rows = [
            (json!([]), ""),
            (json!({"plan": "free"}), "/plan"),
            (json!({"metadata.plan": {"$regex": "f"}}), "/metadata.plan/$regex"),
            (json!({"metadata.plan": {"$in": "free"}}), "/metadata.plan/$in"),
            (json!({"metadata.plan": {"$gt": true}}), "/metadata.plan/$gt"),
            (json!({"metadata.plan": {"$exists": 1}}), "/metadata.plan/$exists"),
            (json!({"metadata.plan": {}}), "/metadata.plan"),
            (json!({"$or": []}), "/$or"),
            (json!({"$and": [{"plan": 1}]}), "/$and/0/plan"),
            (json!({"metadata.plan": {"$not": "free"}}), "/metadata.plan/$not"),
            (nested, "/$not/$not/$not/$not/$not/$not/$not/$not"),
        ];
        for (condition, pointer) in rows {
            let mut faults = Faults::default();
            RouteCondition::parse(&condition, "", 0, &mut faults);
            assert_eq!(
                faults.iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(),
                [pointer],
                "{condition}"
            );
        }
    }
}
