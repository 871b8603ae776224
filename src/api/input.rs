//! Bodies of requests, read field by field: lenient where clients differ, with every error of a body in one answer.
//!
//! A field that is `null` is absent. Numbers and booleans may be written as strings. A field that nobody asked for is
//! named in the messages of the answer.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::{self, ApiError, ApiErrors};

/// What was found while a body was read.
#[derive(Debug, Default)]
pub(super) struct Findings {
    errors: RefCell<Vec<ApiError>>,
    /// Pointers of fields that have no meaning here.
    unknown: RefCell<Vec<String>>,
}

impl Findings {
    pub(super) fn push(&self, error: ApiError) {
        self.errors.borrow_mut().push(error);
    }

    /// `value` and the fields that were passed over, if there are no errors.
    ///
    /// # Errors
    /// All that were found.
    pub(super) fn into_result<T>(self, value: T) -> Result<(T, Vec<String>), ApiErrors> {
        match ApiErrors::of(self.errors.into_inner()) {
            Some(errors) => Err(errors),
            None => Ok((value, self.unknown.into_inner())),
        }
    }
}

/// An object of a body.
#[derive(Debug)]
pub(super) struct Fields<'v> {
    object: &'v Map<String, Value>,
    /// Where it stands.
    pointer: String,
    findings: &'v Findings,
    asked: RefCell<BTreeSet<&'static str>>,
    /// Whether others read the rest of it.
    is_partial: Cell<bool>,
}

impl<'v> Fields<'v> {
    /// The body itself; `None` if it is not an object, which is then an error.
    pub(super) fn root(body: &'v Value, findings: &'v Findings) -> Option<Self> {
        Self::at(body, String::new(), findings)
    }

    /// The value at a place; `None` if it is not an object, which is then an error.
    pub(super) fn at(value: &'v Value, pointer: String, findings: &'v Findings) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self {
                object,
                pointer,
                findings,
                asked: RefCell::default(),
                is_partial: Cell::default(),
            }),
            other => {
                let code = if pointer.is_empty() { error::BAD_BODY } else { error::BAD_FIELD };
                let message = format!("expected an object, found {}", kind(other));
                findings.push(ApiError::at(code, pointer, message));
                None
            }
        }
    }

    /// Where a field stands.
    pub(super) fn pointer(&self, name: &str) -> String {
        format!("{}/{name}", self.pointer)
    }

    /// Refuses a field.
    pub(super) fn refuse(&self, code: &'static error::ErrorCode, name: &str, message: impl Into<String>) {
        self.findings.push(ApiError::at(code, self.pointer(name), message));
    }

    /// The value of a field as it is.
    pub(super) fn value(&self, name: &'static str) -> Option<&'v Value> {
        self.asked.borrow_mut().insert(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// Whether the field is there, if only as `null`.
    pub(super) fn has(&self, name: &'static str) -> bool {
        self.asked.borrow_mut().insert(name);
        self.object.contains_key(name)
    }

    fn typed<T>(
        &self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(name)?;
        let read = read(value);
        if read.is_none() {
            let message = format!("expected {expected} for `{name}`, found {}", kind(value));
            self.refuse(error::BAD_FIELD, name, message);
        }
        read
    }

    pub(super) fn text(&self, name: &'static str) -> Option<&'v str> {
        self.typed(name, "a string", Value::as_str)
    }

    /// A text that must be there.
    pub(super) fn required_text(&self, name: &'static str) -> Option<&'v str> {
        if self.value(name).is_none() {
            self.refuse(error::BAD_FIELD, name, format!("`{name}` is required: expected a string"));
        }
        self.text(name)
    }

    pub(super) fn bool(&self, name: &'static str) -> Option<bool> {
        self.typed(name, "`true` or `false`", |value| match value {
            Value::Bool(value) => Some(*value),
            Value::String(text) if text == "true" => Some(true),
            Value::String(text) if text == "false" => Some(false),
            _ => None,
        })
    }

    /// A whole number, also written as `5.0` or `"5"`.
    pub(super) fn whole(&self, name: &'static str) -> Option<i64> {
        self.typed(name, "a whole number", |value| match value {
            Value::Number(number) => number.as_i64().or_else(|| {
                let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15)?;
                Some(float as i64)
            }),
            Value::String(text) => text.parse().ok(),
            _ => None,
        })
    }

    /// A whole number within bounds; one outside is an error.
    pub(super) fn within(&self, name: &'static str, bounds: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let number = self.whole(name)?;
        if bounds.contains(&number) {
            return Some(number);
        }
        let message =
            format!("expected `{name}` from {} to {}, found {number}", bounds.start(), bounds.end());
        self.refuse(error::BAD_FIELD, name, message);
        None
    }

    pub(super) fn list(&self, name: &'static str) -> Option<&'v [Value]> {
        self.typed(name, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    /// A list of texts.
    pub(super) fn texts(&self, name: &'static str) -> Option<Vec<String>> {
        let list = self.list(name)?;
        let mut texts = Vec::new();
        for (nth, value) in list.iter().enumerate() {
            match value.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => {
                    let message = format!("expected a string, found {}", kind(value));
                    self.refuse(error::BAD_FIELD, &format!("{name}/{nth}"), message);
                }
            }
        }
        Some(texts)
    }

    /// Lists of texts by names that anyone chooses.
    pub(super) fn text_lists(&self, name: &'static str) -> Option<BTreeMap<String, Vec<String>>> {
        self.typed(name, "an object of lists of strings", |value| BTreeMap::deserialize(value).ok())
    }

    pub(super) fn object(&self, name: &'static str) -> Option<Self> {
        Self::at(self.value(name)?, self.pointer(name), self.findings)
    }

    /// Objects by names that anyone chooses.
    pub(super) fn named_objects(&self, name: &'static str) -> Option<Vec<(String, Self)>> {
        let objects = self.typed(name, "an object of objects", Value::as_object)?;
        let objects = objects.iter().filter_map(|(key, value)| {
            let fields = Self::at(value, format!("{}/{key}", self.pointer(name)), self.findings)?;
            Some((key.clone(), fields))
        });
        Some(objects.collect())
    }

    /// The objects of a list.
    pub(super) fn objects(&self, name: &'static str) -> Option<Vec<Self>> {
        let list = self.list(name)?;
        let objects = list.iter().enumerate().filter_map(|(nth, value)| {
            Self::at(value, format!("{}/{nth}", self.pointer(name)), self.findings)
        });
        Some(objects.collect())
    }

    /// One of the words of a type, by serde; another is an error that lists them.
    pub(super) fn word<T: serde::de::DeserializeOwned>(
        &self,
        name: &'static str,
        code: &'static error::ErrorCode,
    ) -> Option<T> {
        let value = self.value(name)?;
        match T::deserialize(value) {
            Ok(word) => Some(word),
            Err(mistake) => {
                self.refuse(code, name, mistake.to_string());
                None
            }
        }
    }

    /// Has no field named as unknown: others read the same object.
    pub(super) fn pass_over(&self) {
        self.is_partial.set(true);
    }

    /// Fields that are shown and cannot be set: they are taken and mean nothing.
    pub(super) fn ignore(&self, names: &[&'static str]) {
        self.asked.borrow_mut().extend(names);
    }

    /// Fields of what is not done here: one is named as unknown only if it asks for something.
    pub(super) fn ignore_unless_wanted(&self, names: &[&'static str]) {
        let asks = |name: &&&str| !matches!(self.object.get(**name), Some(Value::Null | Value::Bool(false)));
        self.asked.borrow_mut().extend(names.iter().filter(|name| !asks(name)));
    }
}

impl Drop for Fields<'_> {
    fn drop(&mut self) {
        if self.is_partial.get() {
            return;
        }
        let asked = self.asked.borrow();
        let unknown = self.object.keys().filter(|name| !asked.contains(name.as_str()));
        self.findings.unknown.borrow_mut().extend(unknown.map(|name| self.pointer(name)));
    }
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string `{}`", text.chars().take(40).collect::<String>()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_error_is_found_with_its_pointer_and_unknown_fields_are_named() {
        let body =
            json!({"a": 5, "b": "true", "c": "7", "d": 7.5, "e": null, "f": {"x": 1}, "g": [{}, 3], "h": 1});
        let findings = Findings::default();
        {
            let fields = Fields::root(&body, &findings).unwrap();
            assert_eq!((fields.text("a"), fields.bool("b"), fields.whole("c")), (None, Some(true), Some(7)));
            assert_eq!((fields.whole("d"), fields.text("e"), fields.has("e")), (None, None, true));
            assert_eq!(fields.object("f").unwrap().text("x"), None);
            assert_eq!(fields.objects("g").unwrap().len(), 1);
            assert_eq!(fields.required_text("i"), None);
        }
        assert_eq!(*findings.unknown.borrow(), ["/h"]);
        let errors = findings.into_result(()).unwrap_err();
        let errors: Vec<_> = errors.iter().map(|error| error.pointer.clone().unwrap()).collect();
        assert_eq!(errors, ["/a", "/d", "/f/x", "/g/1", "/i"]);
        let findings = Findings::default();
        assert!(Fields::root(&json!([]), &findings).is_none());
        assert!(findings.into_result(()).is_err());
    }
}
