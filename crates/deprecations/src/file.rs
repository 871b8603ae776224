//! The calendar as written: TOML, one `[[row]]` for each row.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use diagnostic::{Code, Diagnostic, Diagnostics, Place, Source};
use model::CalendarDate;
use serde::Deserialize;
use toml::Spanned;

use crate::row::{AtEnd, DeprecationKind, DeprecationRow};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScheduleFile {
    #[serde(default)]
    row: Vec<Spanned<RowFile>>,
}

/// A row as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFile {
    id: String,
    what: String,
    /// `GET,PATCH /zones/{zone_id}`.
    #[serde(default)]
    operations: Vec<String>,
    /// Pointers, parameters, keys or names, by what the row is about.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    prefixes: Vec<String>,
    separator: Option<String>,
    #[serde(default)]
    values: Vec<String>,
    announced: Option<CalendarDate>,
    date: CalendarDate,
    extended: Option<CalendarDate>,
    removed: Option<CalendarDate>,
    replacement: String,
    #[serde(default)]
    successors: Vec<String>,
    documentation: Option<String>,
    at_end: Option<String>,
    beside: Option<String>,
    #[serde(default)]
    mirrored: bool,
    #[serde(default)]
    fixed: bool,
}

/// Methods that an operation may have.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Reads the rows of a file.
///
/// # Errors
/// Every mistake of the file: what is no TOML, unknown keys, days that are none or out of order, ids that stand twice.
pub(crate) fn read(source: &Arc<Source>) -> Result<Vec<DeprecationRow>, Diagnostics> {
    let place = |span: Range<usize>| Place::new(source, span);
    let mut diagnostics = Diagnostics::default();
    let file: ScheduleFile = match toml::from_str(&source.text) {
        Ok(file) => file,
        Err(error) => {
            let at = place(error.span().unwrap_or(0..0));
            diagnostics.push(Diagnostic::error(Code::ConfSyntax, error.message().to_owned()).at(at));
            return Err(diagnostics);
        }
    };
    let mut ids = BTreeSet::new();
    let mut rows = Vec::new();
    for row in file.row {
        let at = place(row.span());
        let row = row.into_inner();
        let mut refuse = |message: String| {
            diagnostics.push(Diagnostic::error(Code::ConfBadValue, message).at(at.clone()));
        };
        // It stands in paths, in headers and in metrics.
        let is_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if row.id.is_empty() || row.id.len() > 80 || !row.id.bytes().all(is_id) {
            refuse(format!("the row `{:.80}`: expected an id of lower-case letters, digits and `-`", row.id));
        }
        if !ids.insert(row.id.clone()) {
            refuse(format!("the row `{}` stands twice; give each row an id of its own", row.id));
        }
        if let Some(row) = checked(row, &mut refuse) {
            rows.push(DeprecationRow { place: Some(at), ..row });
        }
    }
    diagnostics.into_result(rows)
}

fn checked(row: RowFile, refuse: &mut impl FnMut(String)) -> Option<DeprecationRow> {
    let id = row.id.clone();
    let mut wrong = |message: &str| refuse(format!("the row `{id}`: {message}"));
    let announced = row.announced.unwrap_or_else(|| DeprecationRow::announced_before(row.date));
    let end = row.extended.unwrap_or(row.date);
    if announced > row.date || end < row.date || row.removed.is_some_and(|removed| removed < end) {
        wrong("expected `announced`, `date`, `extended` and `removed` in this order of days");
    }
    let at_end = match row.at_end.as_deref() {
        None | Some("refuse") => AtEnd::Refuse,
        Some("ignore") => AtEnd::Ignore,
        Some(_) => {
            wrong("expected `refuse` or `ignore` for `at_end`");
            return None;
        }
    };
    let operations = operations(&row.operations, &mut wrong);
    let Some(what) = kind(&row.what, row.names, row.prefixes, (row.separator, row.values)) else {
        wrong(
            "expected one of `route`, `request_field`, `response_field`, `query_form`, `value`, `transport`, \
             `configuration_key`, `event` and `metric` for `what`",
        );
        return None;
    };
    if what.is_of_operations() == row.operations.is_empty() {
        wrong("expected `operations` for what is of the API, and for nothing else");
    }
    Some(DeprecationRow {
        id: row.id,
        what,
        operations,
        announced,
        date: row.date,
        extended: row.extended,
        removed: row.removed,
        replacement: row.replacement,
        successors: row.successors,
        documentation: row.documentation,
        at_end,
        beside: row.beside,
        is_mirrored: row.mirrored,
        is_fixed: row.fixed,
        place: None,
    })
}

/// What a row is about; `None` if the word is none.
fn kind(
    word: &str,
    names: Vec<String>,
    prefixes: Vec<String>,
    (separator, values): (Option<String>, Vec<String>),
) -> Option<DeprecationKind> {
    Some(match word {
        "route" => DeprecationKind::Route,
        "request_field" => DeprecationKind::RequestField(names),
        "response_field" => DeprecationKind::ResponseField(names),
        "query_form" => DeprecationKind::QueryForm { parameters: names, prefixes, separator },
        "value" => DeprecationKind::Value { pointers: names, values },
        "transport" => DeprecationKind::Transport,
        "configuration_key" => DeprecationKind::ConfigurationKey(names),
        "event" => DeprecationKind::Event(names),
        "metric" => DeprecationKind::Metric(names),
        _ => return None,
    })
}

/// Methods and paths of operations such as `GET,PATCH /zones`.
fn operations(written: &[String], wrong: &mut impl FnMut(&str)) -> Vec<(String, String)> {
    let mut operations = Vec::new();
    for operation in written {
        let parts = operation.split_once(' ').filter(|(_, path)| path.starts_with('/'));
        let Some((methods, path)) = parts else {
            wrong("expected operations such as `GET,PATCH /zones/{zone_id}`");
            continue;
        };
        for method in methods.split(',') {
            if METHODS.contains(&method) {
                operations.push((method.to_owned(), path.to_owned()));
            } else {
                wrong("expected the methods GET, POST, PUT, PATCH and DELETE, with commas between");
            }
        }
    }
    operations
}
