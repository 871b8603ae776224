//! What ends, with what the configuration says of it.

use std::sync::Arc;

use deprecations::{DeprecationSchedule, SHIPPED};
use model::{CalendarDate, DeprecationSettings};

/// What ends, and how the configuration has it served.
#[derive(Clone, Debug)]
pub struct DeprecationCalendar {
    pub schedule: Arc<DeprecationSchedule>,
    pub settings: DeprecationSettings,
    /// The first day that a request may ask for; `None` for any.
    pub earliest_api_version: Option<CalendarDate>,
    /// So many days before its end, operators are told of a row that is in use.
    pub notice_days: i32,
}

impl Default for DeprecationCalendar {
    fn default() -> Self {
        Self {
            schedule: Arc::clone(&SHIPPED),
            settings: DeprecationSettings::default(),
            earliest_api_version: None,
            notice_days: 30,
        }
    }
}
