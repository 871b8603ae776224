//! Our own interface ends nothing unannounced: what the last release had is there, or a row of the calendar has ended it.

use std::collections::BTreeSet;
use std::path::Path;

use deprecations::{DeprecationKind, DeprecationRow, SHIPPED};
use model::CalendarDate;
use serde_json::Value;

/// What clients, files, dashboards and log pipelines name: one line each.
fn interface() -> BTreeSet<String> {
    let document: Value = serde_json::from_str(include_str!("../data/api/openapi.json")).unwrap();
    let mut lines = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = format!("{} {path}", method.to_ascii_uppercase());
            lines.insert(format!("operation {name}"));
            let in_query =
                operation["parameters"].as_array().unwrap().iter().filter(|known| known["in"] == "query");
            lines.extend(
                in_query.map(|known| format!("parameter {name} {}", known["name"].as_str().unwrap())),
            );
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let fields = schema["properties"].as_object().unwrap().keys();
        lines.extend(fields.map(|field| format!("field {name}.{field}")));
    }
    lines.extend(portcullis::conf::keys::KEYS.iter().map(|key| format!("key {key}")));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/events");
    for entry in std::fs::read_dir(root.join("kinds")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let names = text.split("const NAME: &'static str = \"").skip(1);
        lines.extend(names.map(|rest| format!("event {}", rest.split('"').next().unwrap())));
    }
    for file in ["metrics.rs", "gen_ai.rs"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        for kind in ["counters", "counter", "gauges", "gauge", "histograms", "histogram", "numbers"] {
            for rest in text.split(&format!(".{kind}(")).skip(1) {
                let name = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
                lines.extend(name.map(|name| format!("metric {name}")));
            }
        }
    }
    lines
}

/// Whether a row that has ended is about a line of the interface.
fn has_ended(line: &str, row: &DeprecationRow, today: CalendarDate) -> bool {
    let (kind, name) = line.split_once(' ').unwrap();
    let last = |separator: char| name.rsplit(separator).next().unwrap();
    let is_in = |list: &[String], name: &str| list.iter().any(|known| known == name);
    let is_about = match (&row.what, kind) {
        (DeprecationKind::Route, "operation" | "parameter") => {
            row.operations.iter().any(|(method, path)| name.starts_with(&format!("{method} {path}")))
        }
        (DeprecationKind::QueryForm { parameters, .. }, "parameter") => is_in(parameters, last(' ')),
        (DeprecationKind::RequestField(pointers) | DeprecationKind::ResponseField(pointers), "field") => {
            pointers.iter().any(|pointer| pointer.rsplit('/').next() == Some(last('.')))
        }
        (DeprecationKind::ConfigurationKey(list), "key")
        | (DeprecationKind::Event(list), "event")
        | (DeprecationKind::Metric(list), "metric") => is_in(list, name),
        _ => false,
    };
    is_about && row.end() <= today
}

/// `RECORD_RELEASE=1` writes the interface of a release down, when it is made.
#[test]
fn nothing_of_the_last_release_is_gone_without_a_row_that_ended_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/interface");
    let now = interface();
    if std::env::var("RECORD_RELEASE").is_ok() {
        std::fs::create_dir_all(&folder).unwrap();
        let text: String = now.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join(concat!(env!("CARGO_PKG_VERSION"), ".txt")), text).unwrap();
    }
    let releases = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let number = |path: &std::path::PathBuf| -> Vec<u32> {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        stem.split('.').map(|part| part.parse().unwrap()).collect()
    };
    let last = releases.max_by_key(number).unwrap();
    let recorded = std::fs::read_to_string(&last).unwrap();
    let today = CalendarDate::parse(&jiff::Timestamp::now().strftime("%F").to_string()).unwrap();
    let mut kinds = BTreeSet::new();
    for line in recorded.lines() {
        kinds.insert(line.split(' ').next().unwrap());
        let is_announced = SHIPPED.rows().iter().any(|row| has_ended(line, row, today));
        let (is_there, release) = (now.contains(line), last.display());
        assert!(
            is_there || is_announced,
            "`{line}` was in {release} and is gone: it needs a row that has ended"
        );
    }
    assert!(recorded.lines().count() > 1_000, "{} lines", recorded.lines().count());
    assert_eq!(kinds, BTreeSet::from(["event", "field", "key", "metric", "operation", "parameter"]));
}
