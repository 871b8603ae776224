//! A request body was passed on though rules saw only its first part, as its policy allows.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct BodyUninspected<'a> {
    #[serde(rename = "RayID")]
    pub ray: &'a str,
    pub inspected_bytes: usize,
}

impl Event for BodyUninspected<'_> {
    const NAME: &'static str = "body_uninspected";
    const MESSAGE: &'static str = "request body passed on after its first part was inspected";
    const LEVEL: Level = Level::Warn;

    fn count(&self, metrics: &Metrics) {
        metrics.bodies_uninspected.inc();
    }
}
