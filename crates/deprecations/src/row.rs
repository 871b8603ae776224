//! One row of the calendar.

use diagnostic::Place;
use model::{CalendarDate, DeprecationMode};

/// A row that does not name the day of its announcement is announced this many days before its end.
const NOTICE_DAYS: i32 = 365;

/// Something that ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeprecationRow {
    /// Unique in a schedule.
    pub id: String,
    pub what: DeprecationKind,
    /// The operations that it is about: a method and a path below `/client/v4`. None for what is no part of the API.
    pub operations: Vec<(String, String)>,
    /// The first day on which answers warn those who use it.
    pub announced: CalendarDate,
    /// The day that was announced first.
    pub date: CalendarDate,
    /// The day that took its place.
    pub extended: Option<CalendarDate>,
    /// The first day on which the server acts as if it had never existed.
    pub removed: Option<CalendarDate>,
    /// What to use in its place, in words.
    pub replacement: String,
    /// Paths below `/client/v4` that take its place, with names of parameters in braces. The first path whose parameters
    /// the call knows is used. `{entry_point:PHASE}` is the id of a zone's entry point.
    pub successors: Vec<String>,
    pub documentation: Option<String>,
    pub at_end: AtEnd,
    /// The pointer of the new field. After its end, the old field is ignored if the new one is there too, and refused if not.
    pub beside: Option<String>,
    /// Whether what is written in its way is read in the new one, and the other way round.
    pub is_mirrored: bool,
    /// Whether it follows the clock alone, because to have it back would open the edge.
    pub is_fixed: bool,
    /// Where an operator's file has it; `None` if it ships with the program.
    pub place: Option<Place>,
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeprecationKind {
    /// The operations themselves.
    Route,
    /// Fields of bodies, as JSON pointers; `*` is any entry of a list. None if the operation itself knows them.
    RequestField(Vec<String>),
    /// Fields of results.
    ResponseField(Vec<String>),
    /// Values of a query: parameters whose value begins so, or has this separator.
    QueryForm {
        parameters: Vec<String>,
        prefixes: Vec<String>,
        separator: Option<String>,
    },
    /// Values of fields of bodies.
    Value {
        pointers: Vec<String>,
        values: Vec<String>,
    },
    /// How requests are sent.
    Transport,
    /// Keys of the configuration.
    ConfigurationKey(Vec<String>),
    /// Kinds of events.
    Event(Vec<String>),
    Metric(Vec<String>),
}

impl DeprecationKind {
    /// The word of the calendar.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::RequestField(_) => "request_field",
            Self::ResponseField(_) => "response_field",
            Self::QueryForm { .. } => "query_form",
            Self::Value { .. } => "value",
            Self::Transport => "transport",
            Self::ConfigurationKey(_) => "configuration_key",
            Self::Event(_) => "event",
            Self::Metric(_) => "metric",
        }
    }

    /// Whether it is about operations of the API.
    pub(crate) fn is_of_operations(&self) -> bool {
        match self {
            Self::Route
            | Self::RequestField(_)
            | Self::ResponseField(_)
            | Self::QueryForm { .. }
            | Self::Value { .. } => true,
            Self::Transport | Self::ConfigurationKey(_) | Self::Event(_) | Self::Metric(_) => false,
        }
    }

    /// Whether it ends with the first release on its day or later, and never by the clock alone: a running program must not
    /// refuse its own configuration, or drop an event, because midnight passed.
    pub fn ends_with_a_release(&self) -> bool {
        matches!(self, Self::ConfigurationKey(_) | Self::Event(_) | Self::Metric(_))
    }
}

/// What becomes of a field or a form that is sent after its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtEnd {
    #[default]
    Refuse,
    Ignore,
}

impl DeprecationRow {
    /// The first day on which it is no longer served.
    pub fn end(&self) -> CalendarDate {
        self.extended.unwrap_or(self.date)
    }

    /// How it is served on a day, if nobody says otherwise.
    pub fn mode_on(&self, day: CalendarDate) -> DeprecationMode {
        let may_end = !self.what.ends_with_a_release();
        if may_end && self.removed.is_some_and(|removed| removed <= day) {
            DeprecationMode::Gone
        } else if may_end && self.end() <= day {
            DeprecationMode::Enforce
        } else if self.announced <= day {
            DeprecationMode::Warn
        } else {
            DeprecationMode::Legacy
        }
    }

    /// When an end is announced that says only when it is.
    pub(crate) fn announced_before(date: CalendarDate) -> CalendarDate {
        date.plus_days(-NOTICE_DAYS)
    }
}
