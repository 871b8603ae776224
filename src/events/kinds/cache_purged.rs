//! Kept responses of a zone were dropped on request.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct CachePurged<'a> {
    pub zone: &'a str,
    pub zone_id: &'a str,
    /// Who asked for it.
    pub actor: String,
    pub everything: bool,
    /// How many were kept.
    pub responses: usize,
}

impl Event for CachePurged<'_> {
    const NAME: &'static str = "cache_purged";
    const MESSAGE: &'static str = "kept responses dropped";
    const LEVEL: Level = Level::Info;

    // The gauges of kept responses tell of it.
    fn count(&self, _: &Metrics) {}
}
