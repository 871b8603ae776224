//! YAML values that people write in several ways: a header's value as text or number, a body as one
//! text or as lines, a status as one number or several.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// A scalar as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }
            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar(value.to_owned()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar::default())
            }
        }
        deserializer.deserialize_any(Text)
    }
}

/// Header fields in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("header fields")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<Scalar, Scalar>()? {
                    fields.push((name.0, value.0));
                }
                Ok(Fields(fields))
            }
            fn visit_unit<E>(self) -> Result<Fields, E> {
                Ok(Fields::default())
            }
        }
        deserializer.deserialize_any(Map)
    }
}

/// One value or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OneOrMany(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element::<Scalar>()? {
                    values.push(value.0);
                }
                Ok(OneOrMany(values))
            }
            fn visit_str<E>(self, value: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![value.to_owned()]))
            }
            fn visit_i64<E>(self, value: i64) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![value.to_string()]))
            }
            fn visit_u64<E>(self, value: u64) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![value.to_string()]))
            }
            fn visit_f64<E>(self, value: f64) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![value.to_string()]))
            }
            fn visit_bool<E>(self, value: bool) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![value.to_string()]))
            }
            fn visit_unit<E>(self) -> Result<OneOrMany, E> {
                Ok(OneOrMany::default())
            }
        }
        deserializer.deserialize_any(Either)
    }
}
