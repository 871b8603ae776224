//! A part of the process could not do its work.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct ServiceFailed<'a> {
    pub service: &'a str,
    pub error: String,
}

impl Event for ServiceFailed<'_> {
    const NAME: &'static str = "service_failed";
    const MESSAGE: &'static str = "part of the process failed";
    const LEVEL: Level = Level::Error;

    fn count(&self, _: &Metrics) {}
}
