//! `portcullis scan`: sensitive data in files.

use std::fmt::Write;
use std::io::{BufRead, Read};
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::{Failure, print};
use crate::detection::{Detector, redact};
use crate::diagnostic::Source;
use crate::rules;

/// Find sensitive data in files, with every rule on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  portcullis scan page.html\n  cat dump.jsonl | portcullis scan --jsonl -"
)]
pub(super) struct Scan {
    /// Rules to use instead of those in the binary.
    #[arg(long, value_name = "DIR")]
    rules: Option<String>,
    /// Each line is {"id","body"}; each answer line {"id","detections":[{"type","start","end","confidence"}]}.
    #[arg(long)]
    jsonl: bool,
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Line {
    id: serde_json::Value,
    body: String,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a serde_json::Value,
    detections: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    r#type: &'a str,
    start: usize,
    end: usize,
    confidence: &'static str,
}

impl Scan {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let paths = self.rules.map(|path| vec![path]);
        let (detector, diagnostics) = rules::sensitive(paths.as_deref());
        let detector = diagnostics.into_result(detector)?;
        for file in &self.files {
            let name = file.display().to_string();
            let input: Box<dyn Read> = if name == "-" {
                Box::new(std::io::stdin())
            } else {
                Box::new(
                    std::fs::File::open(file)
                        .map_err(|error| Failure::Input(format!("cannot read `{name}`: {error}")))?,
                )
            };
            if self.jsonl { lines(&detector, &name, input)? } else { whole(&detector, &name, input)? }
        }
        Ok(())
    }
}

fn lines(detector: &Detector, name: &str, input: Box<dyn Read>) -> Result<(), Failure> {
    for (number, line) in std::io::BufReader::new(input).lines().enumerate() {
        let at = |reason: String| Failure::Input(format!("{name}:{}: {reason}", number + 1));
        let line = line.map_err(|error| at(error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line)
            .map_err(|error| at(format!("expected {{\"id\",\"body\"}}: {error}")))?;
        let answer = Answer { id: &line.id, detections: found(detector, line.body.as_bytes()) };
        let text = serde_json::to_string(&answer).map_err(|error| at(error.to_string()))?;
        print(&(text + "\n"))?;
    }
    Ok(())
}

fn found<'d>(detector: &'d Detector, body: &[u8]) -> Vec<Found<'d>> {
    let named = |detection: crate::detection::Detection| {
        let rule = detector.rules().get(detection.rule)?;
        Some(Found {
            r#type: &rule.id,
            start: detection.start,
            end: detection.end,
            confidence: detection.confidence.word(),
        })
    };
    detector.scan(body, &|_| true).detections.into_iter().filter_map(named).collect()
}

fn whole(detector: &Detector, name: &str, mut input: Box<dyn Read>) -> Result<(), Failure> {
    let mut body = Vec::new();
    input.read_to_end(&mut body).map_err(|error| Failure::Input(format!("cannot read `{name}`: {error}")))?;
    let source = Source::new(name, String::from_utf8_lossy(&body));
    let mut text = String::new();
    for found in found(detector, &body) {
        let (line, column) = source.line_column(found.start);
        let sample = redact::mask(body.get(found.start..found.end).unwrap_or(&[]));
        // INVARIANT: writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "{name}:{line}:{column}: {} ({} confidence): {sample}",
            found.r#type, found.confidence
        );
    }
    print(&text)
}
