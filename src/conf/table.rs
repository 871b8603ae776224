//! TOML tables read key by key, so that every error of a file is reported in one run.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU16, NonZeroU32};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::environment;
use super::units::{self, Bytes, Dollars, Percent};
use detection::payload;
use diagnostic::{Code, Diagnostic, Diagnostics, Place, Source, nearest};
use model::{PayloadKey, Secret};

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Located<T> {
    pub value: T,
    pub place: Place,
}

/// What all tables of one file share.
pub(super) struct Reader {
    pub(super) source: Arc<Source>,
    pub(super) diagnostics: RefCell<Diagnostics>,
}

impl Reader {
    pub(super) fn place(&self, span: Range<usize>) -> Place {
        Place::new(&self.source, span)
    }

    pub(super) fn push(&self, diagnostic: Diagnostic) {
        self.diagnostics.borrow_mut().push(diagnostic);
    }
}

/// One table; keys that were never asked for are reported when it is finished.
pub(super) struct Table<'a> {
    reader: &'a Reader,
    /// `zones.waf`, or nothing for the whole file.
    path: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
    asked: BTreeSet<&'static str>,
}

impl<'a> Table<'a> {
    pub(super) fn root(reader: &'a Reader, entries: &'a DeTable<'a>) -> Self {
        Self { reader, path: String::new(), span: 0..0, entries, asked: BTreeSet::new() }
    }

    pub(super) fn place(&self) -> Place {
        self.reader.place(self.span.clone())
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn find(&mut self, key: &'static str) -> Option<(Range<usize>, &'a DeValue<'a>)> {
        debug_assert!(
            super::keys::KEYS.contains(&self.full(key).as_str()),
            "`{}` is not in KEYS",
            self.full(key)
        );
        self.asked.insert(key);
        let (_, value) = self.entries.iter().find(|(name, _)| name.get_ref().as_ref() == key)?;
        Some((value.span(), value.get_ref()))
    }

    /// The value of a key, if it is there and right.
    pub(super) fn get<T: FromToml>(&mut self, key: &'static str) -> Option<Located<T>> {
        let (span, value) = self.find(key)?;
        let place = self.reader.place(span);
        match T::from_toml(value) {
            Ok(value) => Some(Located { value, place }),
            Err(refusal) => {
                let (code, message) = match refusal {
                    Refusal::Type(expected) => {
                        (Code::ConfWrongType, format!("`{}` takes {expected}", self.full(key)))
                    }
                    Refusal::Value(message) => {
                        (Code::ConfBadValue, format!("`{}`: {message}", self.full(key)))
                    }
                };
                self.reader.push(Diagnostic::error(code, message).at(place));
                None
            }
        }
    }

    /// The value of a key, or its default.
    pub(super) fn or<T: FromToml>(&mut self, key: &'static str, default: T) -> T {
        self.get(key).map_or(default, |located| located.value)
    }

    /// A number within bounds, or its default.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        default: usize,
        range: RangeInclusive<usize>,
    ) -> usize {
        let Some(Located { value, place }) = self.get(key) else { return default };
        if range.contains(&value) {
            return value;
        }
        let (start, end) = (range.start(), range.end());
        let message =
            format!("`{}`: expected a number from {start} to {end}, found `{value}`", self.full(key));
        self.reader.push(Diagnostic::error(Code::ConfBadValue, message).at(place));
        default
    }

    /// A size within bounds, or its default.
    pub(super) fn size(&mut self, key: &'static str, default: Bytes, most: Bytes) -> Bytes {
        let Some(Located { value, place }) = self.get::<Bytes>(key) else { return default };
        if (1..=most.0).contains(&value.0) {
            return value;
        }
        let message =
            format!("`{}`: expected a size from 1 to {} bytes, found {}", self.full(key), most.0, value.0);
        self.reader.push(Diagnostic::error(Code::ConfBadValue, message).at(place));
        default
    }

    /// The value of a key that must be there.
    pub(super) fn required<T: FromToml>(&mut self, key: &'static str) -> Option<Located<T>> {
        if self.find(key).is_none() {
            let message = format!("`{}` is missing", self.full(key));
            self.reader.push(Diagnostic::error(Code::ConfMissingKey, message).at(self.place()));
        }
        self.get(key)
    }

    pub(super) fn table(&mut self, key: &'static str) -> Option<Self> {
        let (span, value) = self.find(key)?;
        let DeValue::Table(entries) = value else {
            let message = format!("`{}` takes a table", self.full(key));
            self.reader.push(Diagnostic::error(Code::ConfWrongType, message).at(self.reader.place(span)));
            return None;
        };
        Some(Table { reader: self.reader, path: self.full(key), span, entries, asked: BTreeSet::new() })
    }

    /// The tables of `[[key]]`.
    pub(super) fn tables(&mut self, key: &'static str) -> Vec<Self> {
        let Some((span, value)) = self.find(key) else { return Vec::new() };
        let wrong = |span| {
            let message = format!("`{}` takes tables: write `[[{0}]]`", self.full(key));
            self.reader.push(Diagnostic::error(Code::ConfWrongType, message).at(self.reader.place(span)));
        };
        let DeValue::Array(items) = value else {
            wrong(span);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items.iter() {
            match item.get_ref() {
                DeValue::Table(entries) => tables.push(Table {
                    reader: self.reader,
                    path: self.full(key),
                    span: item.span(),
                    entries,
                    asked: BTreeSet::new(),
                }),
                _ => wrong(item.span()),
            }
        }
        tables
    }

    /// A part of the file that has the API's shape, read as the API reads it.
    pub(super) fn resource<T: DeserializeOwned>(&mut self, key: &'static str) -> Option<Located<T>> {
        let (span, _) = self.find(key)?;
        let place = self.reader.place(span);
        // The resource's own reader stops at its first error and does not know places; the text of
        // the error names the field.
        let parsed = toml::from_str::<toml::Table>(&self.reader.source.text).ok();
        let found = parsed.as_ref().and_then(|whole| self.lookup(whole, key));
        let read = |value: &toml::Value| {
            let mut value = value.clone();
            environment::expand_again(&mut value);
            value.try_into::<T>()
        };
        match found.map(read) {
            Some(Ok(value)) => Some(Located { value, place }),
            Some(Err(error)) => {
                let message = format!("`{}`: {}", self.full(key), error.message());
                self.reader.push(Diagnostic::error(Code::ConfBadValue, message).at(place));
                None
            }
            None => None,
        }
    }

    /// This table's `key` in the same file read without spans; zones are matched by position.
    fn lookup<'t>(&self, whole: &'t toml::Table, key: &str) -> Option<&'t toml::Value> {
        if self.full(key) == key {
            return whole.get(key);
        }
        let zones = whole.get("zones")?.as_array()?;
        let spanned = DeTable::parse(&self.reader.source.text).ok()?;
        let listed = spanned.get_ref().iter().find(|(name, _)| name.get_ref().as_ref() == "zones")?.1;
        let DeValue::Array(items) = listed.get_ref() else { return None };
        let index = items.iter().position(|item| item.span() == self.span)?;
        zones.get(index)?.get(key)
    }

    /// Reports the keys that do not exist.
    pub(super) fn finish(self) {
        for (name, _) in self.entries.iter() {
            let word = name.get_ref().as_ref();
            if self.asked.contains(word) {
                continue;
            }
            let place = self.reader.place(name.span());
            let diagnostic =
                Diagnostic::error(Code::ConfUnknownKey, format!("unknown key `{}`", self.full(word)))
                    .at(place);
            self.reader.push(match nearest(word, self.asked.iter().copied()) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => {
                    let known: Vec<String> = self.asked.iter().map(|key| format!("`{key}`")).collect();
                    diagnostic.help(format!("expected one of {}", known.join(", ")))
                }
            });
        }
    }
}

/// A type that a key may have.
pub(super) trait FromToml: Sized {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal>;
}

pub(super) enum Refusal {
    /// What TOML type is taken, in words.
    Type(&'static str),
    Value(String),
}

fn text<'v>(value: &'v DeValue<'_>, expected: &'static str) -> Result<&'v str, Refusal> {
    match value {
        DeValue::String(text) => Ok(text),
        _ => Err(Refusal::Type(expected)),
    }
}

impl FromToml for String {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        text(value, "a string").map(str::to_owned)
    }
}

impl FromToml for bool {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(Refusal::Type("`true` or `false`")),
        }
    }
}

impl FromToml for usize {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let DeValue::Integer(number) = value else { return Err(Refusal::Type("a whole number")) };
        Self::from_str_radix(number.as_str(), number.radix()).map_err(|_| {
            Refusal::Value(format!("expected a whole number of 0 or more, found `{}`", number.as_str()))
        })
    }
}

impl FromToml for NonZeroU32 {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let number = usize::from_toml(value)?;
        u32::try_from(number)
            .ok()
            .and_then(Self::new)
            .ok_or_else(|| Refusal::Value(format!("expected a whole number of 1 or more, found `{number}`")))
    }
}

impl FromToml for NonZeroU16 {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let number = usize::from_toml(value)?;
        let number = u16::try_from(number).ok().and_then(Self::new);
        number.ok_or_else(|| Refusal::Value("expected a port from 1 to 65535".to_owned()))
    }
}

impl FromToml for Percent {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        Self::new(usize::from_toml(value)?).map_err(Refusal::Value)
    }
}

impl FromToml for PayloadKey {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        payload::read_key(text(value, "a public key as a string")?).map_err(Refusal::Value)
    }
}

impl FromToml for i64 {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let DeValue::Integer(number) = value else { return Err(Refusal::Type("a whole number")) };
        Self::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| Refusal::Value(format!("expected a whole number, found `{}`", number.as_str())))
    }
}

impl FromToml for f64 {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let text = match value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(Refusal::Type("a number")),
        };
        text.parse().map_err(|_| Refusal::Value(format!("expected a number, found `{text}`")))
    }
}

impl FromToml for Dollars {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        Self::new(f64::from_toml(value)?).map_err(Refusal::Value)
    }
}

impl FromToml for Bytes {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        Self::parse(text(value, "a size such as `\"8KiB\"`")?).map_err(Refusal::Value)
    }
}

impl FromToml for Duration {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        units::duration(text(value, "a duration such as `\"10s\"`")?).map_err(Refusal::Value)
    }
}

impl FromToml for Secret {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        text(value, "a string").map(Self::new)
    }
}

impl FromToml for SocketAddr {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let text = text(value, "an address such as `\"127.0.0.1:8080\"`")?;
        text.parse().map_err(|_| {
            Refusal::Value(format!("expected an address such as `127.0.0.1:8080`, found `{text}`"))
        })
    }
}

impl FromToml for IpAddr {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let text = text(value, "an address such as `\"192.0.2.1\"`")?;
        text.parse()
            .map_err(|_| Refusal::Value(format!("expected an address such as `192.0.2.1`, found `{text}`")))
    }
}

impl FromToml for IpNet {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let text = text(value, "a network such as `\"192.0.2.0/24\"`")?;
        let address = || text.parse::<IpAddr>().ok().map(Self::from);
        text.parse().ok().or_else(address).ok_or_else(|| {
            Refusal::Value(format!("expected a network such as `192.0.2.0/24`, found `{text}`"))
        })
    }
}

impl<T: FromToml> FromToml for Vec<T> {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Array(items) => items.iter().map(|item| T::from_toml(item.get_ref())).collect(),
            _ => Err(Refusal::Type("a list")),
        }
    }
}

/// A type whose values may stand in a table by names that anyone chooses.
pub(super) trait Entry: FromToml {
    /// What such a table is.
    const TABLE: &'static str;
}

impl<T: FromToml> Entry for Vec<T> {
    const TABLE: &'static str = "a table of lists";
}

impl Entry for Secret {
    const TABLE: &'static str = "a table of names and values";
}

impl<T: Entry> FromToml for BTreeMap<String, T> {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let DeValue::Table(entries) = value else { return Err(Refusal::Type(T::TABLE)) };
        let entry = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = name.get_ref();
            Ok((name.clone().into_owned(), T::from_toml(value.get_ref())?))
        };
        entries.iter().map(entry).collect()
    }
}

/// A word out of a fixed list.
pub(super) trait Words: Sized + Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

impl<T: Words> FromToml for T {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let text = text(value, "a word in quotes")?;
        let found = T::WORDS.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("`{word}`")).collect();
            Refusal::Value(format!("expected one of {}, found `{text}`", words.join(", ")))
        })
    }
}
