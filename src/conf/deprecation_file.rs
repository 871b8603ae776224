//! `[deprecations]` as written.

use std::collections::BTreeMap;

use model::{CalendarDate, DeprecationMode};

use super::table::{FromToml, Located, Refusal, Table};
use toml::de::DeValue;

#[derive(Clone, Debug, Default)]
pub struct DeprecationsFile {
    /// An operator's own rows.
    pub file: Option<Located<String>>,
    pub as_of: Option<CalendarDate>,
    pub earliest_api_version: Option<CalendarDate>,
    pub alert_days: usize,
    pub modes: Option<Located<BTreeMap<String, DeprecationMode>>>,
}

impl FromToml for CalendarDate {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let text = String::from_toml(value)?;
        Self::parse(&text)
            .ok_or_else(|| Refusal::Value(format!("expected a day such as `2025-06-15`, found `{text:.40}`")))
    }
}

impl FromToml for BTreeMap<String, DeprecationMode> {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let DeValue::Table(entries) = value else { return Err(Refusal::Type("a table of rows and modes")) };
        let mode = |(row, mode): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let row: &std::borrow::Cow<'_, str> = row.get_ref();
            let word = String::from_toml(mode.get_ref())?;
            let mode = DeprecationMode::parse(&word).ok_or_else(|| {
                let known = DeprecationMode::ALL.map(DeprecationMode::word).join("`, `");
                Refusal::Value(format!("expected one of `{known}` for `{row}`, found `{word:.40}`"))
            })?;
            Ok((row.clone().into_owned(), mode))
        };
        entries.iter().map(mode).collect()
    }
}

pub(super) fn deprecations(root: &mut Table<'_>) -> DeprecationsFile {
    let Some(mut table) = root.table("deprecations") else {
        return DeprecationsFile { alert_days: 30, ..DeprecationsFile::default() };
    };
    let file = DeprecationsFile {
        file: table.get("file"),
        as_of: table.get("as_of").map(|day| day.value),
        earliest_api_version: table.get("earliest_api_version").map(|day| day.value),
        alert_days: table.number("alert_days", 30, 0..=3_650),
        modes: table.get("modes"),
    };
    table.finish();
    file
}
