//! The rows of the calendar that a call has to do with, how each is served, and which of them it uses.

use std::sync::Arc;

use deprecations::{AtEnd, DeprecationKind, DeprecationRow, OperationName, Precedence};
use http::{HeaderMap, HeaderName};
use model::{CalendarDate, DeprecationMode};
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::{forms, telling};
use crate::api::auth::Actor;
use crate::api::auth::scope::ScopeSubject;
use crate::api::error::{self, ApiError};
use crate::conf::DeprecationCalendar;
use crate::snapshot::Snapshot;

/// The header in which a request asks for the interface of a day.
pub(super) const API_VERSION: HeaderName = HeaderName::from_static("api-version");

/// The day whose interface a request asks for.
///
/// # Errors
/// If it is no day, or earlier than the configuration allows.
pub(in crate::api) fn requested_day(
    headers: &HeaderMap,
    calendar: &DeprecationCalendar,
) -> Result<Option<CalendarDate>, ApiError> {
    let Some(value) = headers.get(API_VERSION) else { return Ok(None) };
    let text = value.to_str().unwrap_or("");
    let Some(day) = CalendarDate::parse(text) else {
        let message = format!("expected a day such as `2025-06-15` in `api-version`, found `{text:.40}`");
        return Err(ApiError::new(error::BAD_HEADERS, message));
    };
    match calendar.earliest_api_version {
        Some(earliest) if day < earliest => {
            let message = format!("`api-version` goes back to {earliest} here, found {day}");
            Err(ApiError::new(error::BAD_HEADERS, message))
        }
        _ => Ok(Some(day)),
    }
}

/// Most uses of one call that are noted and told.
const MAX_NOTED: usize = 100;

/// What a call may use that ends.
#[derive(Debug)]
pub(in crate::api) struct CallRows {
    pub(super) calendar: Arc<DeprecationCalendar>,
    pub(super) today: CalendarDate,
    /// Places in the schedule, with how each is served, and whether it is still shown.
    rows: SmallVec<[(usize, DeprecationMode, bool); 8]>,
    uses: Mutex<Vec<RowUse>>,
}

/// That a call used a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowUse {
    pub(super) row: usize,
    pub(super) mode: DeprecationMode,
    /// Where in the body.
    pub(super) pointer: Option<String>,
}

/// What the rows of a call follow from.
#[derive(Clone, Copy)]
pub(in crate::api) struct CallAbout<'a> {
    pub(in crate::api) operation: OperationName<'a>,
    pub(in crate::api) actor: &'a Actor,
    pub(in crate::api) subject: &'a ScopeSubject,
    pub(in crate::api) day: Option<CalendarDate>,
    pub(in crate::api) query: &'a [(String, String)],
    /// Whether the operation takes a body.
    pub(in crate::api) has_body: bool,
    /// Seconds since the epoch.
    pub(in crate::api) unix: u64,
}

impl CallAbout<'_> {
    /// Whether the call may use a row that is served so, or its answer show it.
    fn may_use(&self, row: &DeprecationRow, mode: DeprecationMode) -> bool {
        match &row.what {
            DeprecationKind::Route => true,
            DeprecationKind::QueryForm { .. } => {
                self.query.iter().any(|(name, value)| forms::is_old_query(row, name, value))
            }
            DeprecationKind::RequestField(_) | DeprecationKind::Value { .. } => {
                self.has_body || mode.is_served()
            }
            DeprecationKind::ResponseField(_) => mode.is_served(),
            DeprecationKind::Transport
            | DeprecationKind::ConfigurationKey(_)
            | DeprecationKind::Event(_)
            | DeprecationKind::Metric(_) => false,
        }
    }
}

impl CallRows {
    /// `None` if the call can use no row: what then follows costs nothing.
    pub(in crate::api) fn of(snapshot: &Snapshot, about: CallAbout<'_>) -> Option<Arc<Self>> {
        let calendar = &snapshot.deprecations;
        let places = calendar.schedule.places(about.operation);
        if places.is_empty() {
            return None;
        }
        let token = match about.actor {
            Actor::Token(token) => Some(&token.deprecations),
            Actor::Operator { .. } => None,
        };
        let account = match about.subject {
            ScopeSubject::Zone(_, account) | ScopeSubject::Account(account) => {
                snapshot.resources.accounts.get(account).and_then(|account| account.deprecations.as_deref())
            }
            ScopeSubject::User | ScopeSubject::Unknown => None,
        };
        let today = CalendarDate::of_unix(about.unix);
        let precedence =
            Precedence { request: about.day, settings: [token, account, Some(&calendar.settings)], today };
        let rows = calendar.schedule.rows();
        let may_use =
            |place: &usize| rows.get(*place).is_some_and(|row| about.may_use(row, precedence.mode(row)));
        if !places.iter().any(may_use) {
            return None;
        }
        let mode =
            |place: &usize| rows.get(*place).map(|row| (*place, precedence.mode(row), precedence.shows(row)));
        Some(Arc::new(Self {
            calendar: Arc::clone(calendar),
            today,
            rows: places.iter().filter_map(mode).collect(),
            uses: Mutex::default(),
        }))
    }

    pub(super) fn row(&self, place: usize) -> Option<&DeprecationRow> {
        self.calendar.schedule.rows().get(place)
    }

    /// The rows with how they are served.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &DeprecationRow, DeprecationMode)> {
        self.rows.iter().filter_map(|(place, mode, _)| Some((*place, self.row(*place)?, *mode)))
    }

    /// How all of them are served, as a text that sets two calls apart which are served otherwise.
    pub(in crate::api) fn how_served(&self) -> String {
        self.rows.iter().map(|(_, mode, is_shown)| format!(" {}{is_shown}", mode.word())).collect()
    }

    /// How a row is served; as if it had never been if it is not about the operation.
    pub(in crate::api) fn mode(&self, id: &str) -> DeprecationMode {
        self.iter().find(|(_, row, _)| row.id == id).map_or(DeprecationMode::Gone, |(_, _, mode)| mode)
    }

    /// Whether an answer still shows what a row is about.
    pub(in crate::api) fn shows(&self, id: &str) -> bool {
        let is_it = |place: &usize| self.row(*place).is_some_and(|row| row.id == id);
        self.rows.iter().any(|(place, _, is_shown)| *is_shown && is_it(place))
    }

    /// Notes that the call uses a row, at a place of its body.
    pub(super) fn used(&self, id: &str, pointer: Option<String>) {
        if let Some((row, _, mode)) = self.iter().find(|(_, row, _)| row.id == id) {
            self.note(RowUse { row, mode, pointer });
        }
    }

    /// Why something that an operation found itself, at a place of the body, is refused; `None` if it is served or ignored.
    pub(in crate::api) fn refusal(
        &self,
        id: &str,
        something: &str,
        pointer: Option<String>,
    ) -> Option<String> {
        let (_, row, mode) = self.iter().find(|(_, row, _)| row.id == id)?;
        self.used(id, pointer);
        let is_refused = mode == DeprecationMode::Enforce && row.at_end == AtEnd::Refuse;
        is_refused.then(|| telling::sentence(self, row, something))
    }

    pub(super) fn note(&self, found: RowUse) {
        let mut uses = self.uses.lock();
        // A batch can use a row thousands of times, of which a client need not read.
        if uses.len() < MAX_NOTED && !uses.contains(&found) {
            uses.push(found);
        }
    }

    pub(super) fn uses(&self) -> Vec<RowUse> {
        self.uses.lock().clone()
    }
}
