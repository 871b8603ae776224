//! All sockets listen.

use serde::Serialize;

use crate::events::{Event, Level, Metrics};

#[derive(Debug, Serialize)]
pub struct ServerStarted {
    pub listeners: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    pub admin: String,
    pub version: &'static str,
}

impl Event for ServerStarted {
    const NAME: &'static str = "server_started";
    const MESSAGE: &'static str = "all sockets listen";
    const LEVEL: Level = Level::Notice;

    fn count(&self, _: &Metrics) {}
}
