//! All rows, found by the operation that they are about.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, OnceLock};

use diagnostic::{Code, Diagnostic, Diagnostics, Source};
use model::{CalendarDate, DeprecationMode, DeprecationSettings};

use crate::file;
use crate::row::DeprecationRow;

/// The rows that ship with the program.
pub static SHIPPED: LazyLock<Arc<DeprecationSchedule>> = LazyLock::new(|| {
    let source = Source::new("<schedule>", include_str!("schedule.toml"));
    // INVARIANT: a test reads it.
    let rows = file::read(&source).unwrap_or_default().into_iter();
    Arc::new(DeprecationSchedule::of(rows.map(|row| DeprecationRow { place: None, ..row }).collect()))
});

/// Whether the API has an operation. A program that has one sets it once, before it reads a file; until then rows about any
/// operation are taken.
pub static EXISTS: OnceLock<fn(OperationName<'_>) -> bool> = OnceLock::new();

/// An operation of the API, as schedules name it.
#[derive(Clone, Copy, Debug)]
pub struct OperationName<'a> {
    pub method: &'a str,
    /// Below `/client/v4`, with its parameters in braces.
    pub path: &'a str,
}

/// The calendar.
#[derive(Debug, Default)]
pub struct DeprecationSchedule {
    rows: Vec<DeprecationRow>,
    /// Places in `rows`, by path, then method.
    by_path: HashMap<String, Vec<(String, Vec<usize>)>>,
}

impl DeprecationSchedule {
    fn of(rows: Vec<DeprecationRow>) -> Self {
        let mut by_path: HashMap<String, Vec<(String, Vec<usize>)>> = HashMap::new();
        for (nth, row) in rows.iter().enumerate() {
            for (method, path) in &row.operations {
                let methods = by_path.entry(path.clone()).or_default();
                match methods.iter_mut().find(|(known, _)| known == method) {
                    Some((_, places)) => places.push(nth),
                    None => methods.push((method.clone(), vec![nth])),
                }
            }
        }
        Self { rows, by_path }
    }

    /// The rows that ship with the program and those of a file.
    ///
    /// # Errors
    /// Every mistake of the file.
    pub fn with_file(source: &Arc<Source>) -> Result<Self, Diagnostics> {
        let added = file::read(source)?;
        let mut diagnostics = Diagnostics::default();
        for row in &added {
            for (method, path) in &row.operations {
                let operation = OperationName { method, path };
                if EXISTS.get().is_some_and(|exists| !exists(operation)) {
                    let message = format!(
                        "the row `{}`: the API has no operation `{method} {path}`; `/openapi.json` lists them",
                        row.id
                    );
                    diagnostics.push(at(row, Diagnostic::error(Code::ConfBadValue, message)));
                }
            }
        }
        for row in added.iter().filter(|row| SHIPPED.row(&row.id).is_some()) {
            let message = format!(
                "the row `{}` ships with the program; `deprecations.modes` changes how it is served",
                row.id
            );
            diagnostics.push(at(row, Diagnostic::error(Code::ConfConflict, message)));
        }
        diagnostics.into_result(Self::of(SHIPPED.rows.iter().cloned().chain(added).collect()))
    }

    pub fn rows(&self) -> &[DeprecationRow] {
        &self.rows
    }

    /// The row of an id.
    pub fn row(&self, id: &str) -> Option<&DeprecationRow> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// The rows that are about an operation, by their places in [`Self::rows`].
    pub fn places(&self, operation: OperationName<'_>) -> &[usize] {
        let methods = self.by_path.get(operation.path);
        let places = methods.and_then(|methods| {
            methods.iter().find(|(method, _)| method == operation.method).map(|(_, places)| places)
        });
        places.map_or(&[], Vec::as_slice)
    }

    /// The rows that are about an operation.
    pub fn about(&self, operation: OperationName<'_>) -> impl Iterator<Item = &DeprecationRow> {
        self.places(operation).iter().filter_map(|nth| self.rows.get(*nth))
    }
}

fn at(row: &DeprecationRow, diagnostic: Diagnostic) -> Diagnostic {
    match &row.place {
        Some(place) => diagnostic.at(place.clone()),
        None => diagnostic,
    }
}

/// Who says how a row is served: the first of these that says anything about it.
#[derive(Clone, Copy, Debug)]
pub struct Precedence<'a> {
    /// The day that a request asks for.
    pub request: Option<CalendarDate>,
    /// What its token, its account and the configuration say, in this order.
    pub settings: [Option<&'a DeprecationSettings>; 3],
    pub today: CalendarDate,
}

impl Precedence<'_> {
    /// How a row is served.
    pub fn mode(&self, row: &DeprecationRow) -> DeprecationMode {
        match self.named(row) {
            Ok(mode) => mode,
            Err(day) => row.mode_on(day),
        }
    }

    /// Whether what the row is about is still shown. Somebody who has named the mode `warn` after the end has old clients
    /// that write it, and does not want it back in answers.
    pub fn shows(&self, row: &DeprecationRow) -> bool {
        match self.named(row) {
            Ok(DeprecationMode::Warn) => self.today < row.end(),
            Ok(mode) => mode.is_served(),
            Err(day) => row.mode_on(day).is_served(),
        }
    }

    /// The mode that is named for a row, or the day that decides.
    fn named(&self, row: &DeprecationRow) -> Result<DeprecationMode, CalendarDate> {
        if row.is_fixed {
            return Err(self.today);
        }
        if let Some(day) = self.request {
            return Err(day);
        }
        for settings in self.settings.into_iter().flatten() {
            if let Some(mode) = settings.modes.get(&row.id) {
                return Ok(*mode);
            }
            if let Some(day) = settings.api_version {
                return Err(day);
            }
        }
        Err(self.today)
    }
}

/// Ids of settings that no row has.
pub fn unknown_ids<'s>(
    modes: &'s BTreeMap<String, DeprecationMode>,
    schedule: &'s DeprecationSchedule,
) -> impl Iterator<Item = &'s str> {
    modes.keys().map(String::as_str).filter(|id| schedule.row(id).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::DeprecationKind;

    fn day(text: &str) -> CalendarDate {
        CalendarDate::parse(text).unwrap()
    }

    #[test]
    fn the_shipped_calendar_is_whole() {
        let source = Source::new("<schedule>", include_str!("schedule.toml"));
        let rows = match file::read(&source) {
            Ok(rows) => rows,
            Err(diagnostics) => panic!("{diagnostics}"),
        };
        assert_eq!(rows.len(), 36);
        for row in &rows {
            assert!(
                row.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            );
            assert!(!row.replacement.is_empty() && !row.replacement.ends_with('.'), "{}", row.id);
            let end = row.end();
            let ended =
                if row.what.ends_with_a_release() { DeprecationMode::Warn } else { DeprecationMode::Enforce };
            assert_eq!(row.mode_on(end), ended, "{}", row.id);
            assert_eq!(row.mode_on(end.plus_days(-1)), DeprecationMode::Warn, "{}", row.id);
            assert_eq!(row.mode_on(row.announced.plus_days(-1)), DeprecationMode::Legacy, "{}", row.id);
        }
        let about = SHIPPED.about(OperationName { method: "GET", path: "/zones/{zone_id}/dns_records" });
        assert!(about.count() >= 5);
        let about = SHIPPED.about(OperationName { method: "GET", path: "/zones/{zone_id}" });
        assert_eq!(about.count(), 0);
    }

    #[test]
    fn the_nearest_that_says_anything_decides() {
        let row = SHIPPED.row("firewall-rules").unwrap();
        let settings = |mode: Option<DeprecationMode>, version: Option<&str>| DeprecationSettings {
            api_version: version.map(day),
            modes: mode.map(|mode| ("firewall-rules".to_owned(), mode)).into_iter().collect(),
        };
        let (gone, before, other) = (
            settings(Some(DeprecationMode::Gone), None),
            settings(None, Some("2025-06-14")),
            DeprecationSettings {
                modes: [("rate-limits".to_owned(), DeprecationMode::Gone)].into(),
                ..DeprecationSettings::default()
            },
        );
        let today = day("2026-11-26");
        let mode = |request: Option<&str>, settings| {
            Precedence { request: request.map(day), settings, today }.mode(row)
        };
        assert_eq!(mode(None, [None; 3]), DeprecationMode::Enforce);
        assert_eq!(mode(Some("2025-06-14"), [Some(&gone), None, None]), DeprecationMode::Warn);
        assert_eq!(mode(Some("2020-01-01"), [None; 3]), DeprecationMode::Legacy);
        assert_eq!(mode(None, [Some(&gone), Some(&before), None]), DeprecationMode::Gone);
        assert_eq!(mode(None, [Some(&before), Some(&gone), None]), DeprecationMode::Warn);
        assert_eq!(mode(None, [Some(&other), Some(&before), Some(&gone)]), DeprecationMode::Warn);
        assert_eq!(mode(None, [None, None, Some(&gone)]), DeprecationMode::Gone);
        let warn = settings(Some(DeprecationMode::Warn), None);
        let shows = |request: Option<&str>, settings| {
            Precedence { request: request.map(day), settings, today }.shows(row)
        };
        assert!(!shows(None, [None, None, Some(&warn)]), "it has ended");
        assert!(
            shows(Some("2025-06-14"), [None, None, Some(&warn)]) && shows(None, [Some(&before), None, None])
        );
        let fixed = SHIPPED.row("transfer-encoding-with-content-length").unwrap();
        let asked = Precedence { request: Some(day("2020-01-01")), settings: [None; 3], today };
        assert_eq!(asked.mode(fixed), DeprecationMode::Enforce, "what opens the edge cannot be had back");
    }

    #[test]
    fn mistakes_of_a_file_are_all_found_with_their_places() {
        let row = |rest: &str| {
            format!("[[row]]\nid = \"mine\"\nreplacement = \"other\"\ndate = \"2030-01-01\"\n{rest}\n")
        };
        EXISTS.get_or_init(|| |operation| operation.path == "/zones");
        let read = |text: String| {
            let read = DeprecationSchedule::with_file(&Source::new("mine.toml", text));
            read.map_err(|error| error.to_string())
        };
        let good = row("what = \"route\"\noperations = [\"GET,POST /zones\"]");
        let schedule = read(good.clone()).unwrap();
        let found: Vec<_> = schedule.about(OperationName { method: "POST", path: "/zones" }).collect();
        assert_eq!((found.len(), &found[0].what), (1, &DeprecationKind::Route));
        for (text, expected) in [
            ("[[row]]\nid = 5\n".to_owned(), "mine.toml:2:"),
            (format!("{good}{good}"), "the row `mine` stands twice"),
            (row("what = \"route\"\noperations = [\"GET /none\"]"), "no operation `GET /none`"),
            (row("what = \"route\"\noperations = [\"FETCH /zones\"]"), "expected the methods"),
            (row("what = \"route\""), "expected `operations`"),
            (row("what = \"habit\""), "`request_field`"),
            (row("what = \"event\"\nnames = [\"x\"]\nremoved = \"2029-01-01\""), "in this order of days"),
            (row("what = \"event\"\nnames = [\"x\"]\nat_end = \"burn\""), "`refuse` or `ignore`"),
            (good.replace("\"mine\"", "\"My row\""), "expected an id of lower-case letters"),
            (row("what = \"event\"\ncolour = \"red\""), "colour"),
            (good.replace("mine", "firewall-rules"), "ships with the program"),
            (good.replace("2030-01-01", "2030-1-1"), "expected a day such as"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("mine.toml:"), "{expected}: {error}");
        }
    }
}
