//! What a log says that rules did.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use serde::Deserialize;

use super::Failure;

/// What is read of a `security_event`.
#[derive(Debug, Deserialize)]
pub(super) struct SecurityEvent {
    event: String,
    #[serde(rename = "RayID", default)]
    pub(super) ray: String,
    #[serde(rename = "Datetime", default)]
    pub(super) datetime: String,
    #[serde(rename = "Action", default)]
    pub(super) action: String,
    #[serde(rename = "ClientRequestMethod", default)]
    pub(super) method: String,
    #[serde(rename = "ClientRequestHost", default)]
    pub(super) host: String,
    #[serde(rename = "ClientRequestPath", default)]
    pub(super) path: String,
    #[serde(rename = "EdgeResponseStatus", default)]
    pub(super) status: u16,
    #[serde(rename = "RulesetID", default)]
    pub(super) ruleset: String,
    #[serde(rename = "Ref", default)]
    pub(super) reference: String,
    #[serde(rename = "Description", default)]
    pub(super) description: String,
    #[serde(rename = "Source", default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) score: i64,
    /// What the expression of the rule saw.
    #[serde(default)]
    pub(super) values: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) contributions: Vec<Contribution>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Contribution {
    #[serde(rename = "Ref")]
    pub(super) rule: String,
    #[serde(rename = "Description")]
    pub(super) description: String,
    pub(super) score: i64,
    pub(super) variable: String,
}

/// Calls with each `security_event` of a log, or of standard input, and returns what was read.
///
/// # Errors
/// The log cannot be read.
pub(super) fn events(log: Option<&Path>, mut each: impl FnMut(SecurityEvent)) -> Result<String, Failure> {
    let name = log.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    let unreadable = |error: std::io::Error| Failure::Input(format!("cannot read `{name}`: {error}"));
    let reader: Box<dyn BufRead> = match log {
        Some(path) => Box::new(std::io::BufReader::new(std::fs::File::open(path).map_err(unreadable)?)),
        None => Box::new(std::io::stdin().lock()),
    };
    for line in reader.split(b'\n') {
        let line = line.map_err(unreadable)?;
        // Other programs may write to the same log.
        let Ok(event) = serde_json::from_slice::<SecurityEvent>(&line) else { continue };
        if event.event == "security_event" {
            each(event);
        }
    }
    Ok(name)
}
