//! Something that ends soon is still used.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct DeprecationDue {
    /// The row of the calendar.
    pub row: String,
    /// The first day on which it is no longer served.
    pub ends: String,
    pub days: i32,
    /// How often it was used.
    pub uses: u64,
}

impl Event for DeprecationDue {
    const NAME: &'static str = "deprecation_due";
    const MESSAGE: &'static str = "something that ends soon is still used";
    const LEVEL: Level = Level::Warn;

    // Its gauge is set at every look, and gone when the row is no longer due.
    fn count(&self, _: &Metrics) {}
}
