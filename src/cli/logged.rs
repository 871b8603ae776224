//! What a log says that rules did.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use serde::Deserialize;

use super::Failure;
use model::security_record::Contribution;

/// What is read of a `security_event`, or of a `request` whose rules changed something.
#[derive(Debug, Deserialize)]
pub(super) struct LoggedEvent {
    event: String,
    #[serde(rename = "RayID", default)]
    pub(super) ray: String,
    /// Older logs call it `Datetime`.
    #[serde(alias = "Datetime", default)]
    pub(super) time: String,
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
    /// Of a `request`: rules that changed something of it.
    #[serde(rename = "Rules", default)]
    pub(super) rules: Vec<LoggedRule>,
}

/// A rule that changed something of a request, as the line of the request has it.
#[derive(Debug, Deserialize)]
pub(super) struct LoggedRule {
    pub(super) phase: String,
    pub(super) action: String,
    pub(super) ruleset: String,
    pub(super) rule: String,
    #[serde(default)]
    pub(super) description: String,
}

/// Reads a log, or standard input without one, and calls `each` with every event that names rules. Returns the name of
/// what was read.
///
/// # Errors
/// The log cannot be read.
pub(super) fn events(log: Option<&Path>, mut each: impl FnMut(LoggedEvent)) -> Result<String, Failure> {
    let name = log.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string());
    let unreadable = |error: std::io::Error| Failure::Input(format!("cannot read `{name}`: {error}"));
    let reader: Box<dyn BufRead> = match log {
        Some(path) => Box::new(std::io::BufReader::new(std::fs::File::open(path).map_err(unreadable)?)),
        None => Box::new(std::io::stdin().lock()),
    };
    for line in reader.split(b'\n') {
        let line = line.map_err(unreadable)?;
        // Other programs may write to the same log.
        let Ok(event) = serde_json::from_slice::<LoggedEvent>(&line) else { continue };
        if event.event == "security_event" || !event.rules.is_empty() {
            each(event);
        }
    }
    Ok(name)
}
