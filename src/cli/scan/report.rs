//! Findings in files as text, JSON and SARIF. The value itself is in none of them.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};

use detection::{Confidence, Detector};

/// Something found in a file.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub column: usize,
    /// Bytes of the file.
    pub start: usize,
    pub end: usize,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip)]
    pub name: String,
    pub confidence: Confidence,
    /// Masked.
    pub sample: String,
}

pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let Finding { path, line, column, kind, confidence, sample, .. } = finding;
        // INVARIANT: writing to a `String` cannot fail.
        let _ = writeln!(text, "{path}:{line}:{column}: {kind} ({} confidence): {sample}", confidence.word());
    }
    text
}

pub fn json(findings: &[Finding]) -> String {
    format!("{:#}\n", json!({ "findings": findings }))
}

/// SARIF 2.1.0 (OASIS), section 3.13 on: one run, its rules those that found something.
pub fn sarif(detector: &Detector, findings: &[Finding]) -> String {
    let found = |id: &str| findings.iter().any(|finding| finding.kind == id);
    let rules: Vec<Value> = detector
        .rules()
        .iter()
        .filter(|rule| found(&rule.id))
        .map(|rule| {
            json!({
                "id": rule.id,
                "name": rule.name,
                "shortDescription": { "text": rule.description },
                "properties": { "tags": rule.categories },
            })
        })
        .collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    let driver = json!({ "name": "Portcullis", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": results }],
    });
    format!("{log:#}\n")
}

fn result(finding: &Finding) -> Value {
    let level = match finding.confidence {
        Confidence::High => "error",
        Confidence::Medium => "warning",
        Confidence::Low => "note",
    };
    let region = json!({
        "startLine": finding.line,
        "startColumn": finding.column,
        "byteOffset": finding.start,
        "byteLength": finding.end - finding.start,
    });
    let location = json!({
        "physicalLocation": { "artifactLocation": { "uri": finding.path }, "region": region },
    });
    json!({
        "ruleId": finding.kind,
        "level": level,
        "message": { "text": format!("{}: {}", finding.name, finding.sample) },
        "locations": [location],
    })
}
