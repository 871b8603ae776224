//! `[[gateways.routes]]` as written.

use serde_json::Value;
use toml::de::DeValue;

use super::table::{FromToml, Located, Refusal, Table};

#[derive(Clone, Debug)]
pub struct RouteFile {
    pub name: Located<String>,
    pub elements: Located<Elements>,
}

/// The list that the crate `gateway` reads, in the form of the API.
#[derive(Clone, Debug)]
pub struct Elements(pub Vec<Value>);

pub(super) fn route(mut table: Table<'_>) -> Option<RouteFile> {
    let (name, elements) = (table.required("name"), table.required("elements"));
    table.finish();
    Some(RouteFile { name: name?, elements: elements? })
}

impl FromToml for Elements {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Array(items) => {
                items.iter().map(|item| json(item.get_ref())).collect::<Result<_, _>>().map(Self)
            }
            _ => Err(Refusal::Type("a list of elements")),
        }
    }
}

/// A value as the API would have it.
fn json(value: &DeValue<'_>) -> Result<Value, Refusal> {
    Ok(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(_) => i64::from_toml(value)?.into(),
        DeValue::Float(_) => f64::from_toml(value)?.into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Datetime(moment) => moment.to_string().into(),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| json(item.get_ref())).collect::<Result<_, _>>()?)
        }
        DeValue::Table(entries) => {
            let entry = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
                let name: &std::borrow::Cow<'_, str> = name.get_ref();
                Ok((name.to_string(), json(value.get_ref())?))
            };
            Value::Object(entries.iter().map(entry).collect::<Result<_, Refusal>>()?)
        }
    })
}
