//! `portcullis scan`: sensitive data in files.

mod report;

use std::io::{BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use super::{Failure, print};
use crate::rules;
use detection::{Detection, Detector};
use diagnostic::Lines;
use report::Finding;

/// Largest file that is read: a scan holds it in memory.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// What is looked at of a file in a folder to tell text from anything else.
const SNIFFED_BYTES: usize = 8 << 10;

/// Find sensitive data in files, with every rule on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  portcullis scan page.html\n  portcullis scan --fail-on-findings dist/\n  portcullis scan --format sarif src/ > found.sarif\n  \
                  cat dump.jsonl | portcullis scan --jsonl -"
)]
pub(super) struct Scan {
    /// Rules to use instead of those in the binary.
    #[arg(long, value_name = "DIR")]
    rules: Option<String>,
    /// Each line is {"id","body"}; each answer line {"id","detections":[{"type","start","end","confidence"}]}.
    #[arg(long, conflicts_with = "format")]
    jsonl: bool,
    /// What is written. A value is masked in each of them.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Exit with 1 if anything is found.
    #[arg(long, conflicts_with = "jsonl")]
    fail_on_findings: bool,
    /// Files and folders; `-` is standard input. In folders what .gitignore names, hidden files and files
    /// that are no text are left out.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A line for each finding: file, line, column, kind, confidence, masked value.
    Text,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0, as code hosts and editors read it.
    Sarif,
}

#[derive(Deserialize)]
struct Line {
    id: serde_json::Value,
    body: String,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a serde_json::Value,
    detections: Vec<Detected<'a>>,
}

#[derive(Serialize)]
struct Detected<'a> {
    r#type: &'a str,
    start: usize,
    end: usize,
    confidence: &'static str,
}

impl Scan {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let paths = self.rules.as_ref().map(|path| vec![path.clone()]);
        let (detector, diagnostics) = rules::sensitive(paths.as_deref());
        let detector = diagnostics.into_result(detector)?;
        if self.jsonl {
            return self.files.iter().try_for_each(|file| lines(&detector, file));
        }
        // A file that cannot be read does not keep the others from it.
        let mut problems = Vec::new();
        let mut findings = Vec::new();
        let mut count = 0;
        let files = self.expand(&mut problems);
        let progress = progress(files.len());
        for file in &files {
            let found = whole(&detector, file, &mut problems);
            count += found.len();
            match self.format {
                Format::Text => progress.suspend(|| print(&report::text(&found)))?,
                Format::Json | Format::Sarif => findings.extend(found),
            }
            progress.inc(1);
        }
        progress.finish_and_clear();
        match self.format {
            Format::Text => {}
            Format::Json => print(&report::json(&findings))?,
            Format::Sarif => print(&report::sarif(&detector, &findings))?,
        }
        if self.fail_on_findings && count > 0 {
            problems.push(format!("{count} findings"));
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::Input(problems.join("\n"))) }
    }

    /// The files that are named, and those in the folders that are, in order of their names.
    fn expand(&self, problems: &mut Vec<String>) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for path in &self.files {
            if !path.is_dir() {
                files.push(path.clone());
                continue;
            }
            let walk = ignore::WalkBuilder::new(path).require_git(false).sort_by_file_path(Path::cmp).build();
            for entry in walk {
                match entry {
                    Ok(entry) => {
                        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                        files.extend((is_file && is_text(entry.path())).then(|| entry.into_path()));
                    }
                    Err(error) => problems.push(format!("cannot read a folder: {error}")),
                }
            }
        }
        files
    }
}

/// A bar on a terminal, if there is more than one file.
fn progress(files: usize) -> ProgressBar {
    if files < 2 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(files as u64);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} files, {eta} left");
    style.map(|style| bar.clone().with_style(style)).unwrap_or(bar)
}

/// Whether the beginning of a file has no zero byte.
fn is_text(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(SNIFFED_BYTES as u64).read_to_end(&mut beginning));
    read.is_ok() && !beginning.contains(&0)
}

fn open(file: &Path) -> std::io::Result<Box<dyn Read>> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(std::io::stdin()));
    }
    Ok(Box::new(std::fs::File::open(file)?))
}

fn unreadable(file: &Path, error: &std::io::Error) -> String {
    format!("cannot read `{}`: {error}", file.display())
}

fn lines(detector: &Detector, file: &Path) -> Result<(), Failure> {
    let name = file.display();
    let input = open(file).map_err(|error| Failure::Input(unreadable(file, &error)))?;
    for (number, line) in std::io::BufReader::new(input).lines().enumerate() {
        let at = |reason: String| Failure::Input(format!("{name}:{}: {reason}", number + 1));
        let line = line.map_err(|error| at(error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line)
            .map_err(|error| at(format!("expected {{\"id\",\"body\"}}: {error}")))?;
        let found = detector.scan(line.body.as_bytes(), &|_| true).detections.into_iter();
        let named = found.filter_map(|detection| {
            let rule = detector.rules().get(detection.rule)?;
            let (start, end) = (detection.start, detection.end);
            Some(Detected { r#type: &rule.id, start, end, confidence: detection.confidence.word() })
        });
        let answer = Answer { id: &line.id, detections: named.collect() };
        let text = serde_json::to_string(&answer).map_err(|error| at(error.to_string()))?;
        print(&(text + "\n"))?;
    }
    Ok(())
}

/// What a file holds; what keeps it from being told in whole joins the problems.
fn whole(detector: &Detector, file: &Path, problems: &mut Vec<String>) -> Vec<Finding> {
    let name = file.display().to_string();
    let mut body = Vec::new();
    let read = open(file).and_then(|input| input.take(MAX_FILE_BYTES + 1).read_to_end(&mut body));
    if let Err(error) = read {
        problems.push(unreadable(file, &error));
        return Vec::new();
    }
    if body.len() as u64 > MAX_FILE_BYTES {
        problems.push(format!(
            "`{name}` is larger than {MAX_FILE_BYTES} bytes: split it, or pipe its records in with --jsonl"
        ));
        return Vec::new();
    }
    let scanned = detector.scan(&body, &|_| true);
    if scanned.exhausted {
        problems.push(format!(
            "`{name}` asks for more work than a file may: not every rule was tried to its end"
        ));
    }
    let mut lines = Lines::of(&body);
    let finding = |detection: Detection| {
        let rule = detector.rules().get(detection.rule)?;
        let (line, column) = lines.line_column(detection.start);
        let value = body.get(detection.start..detection.end)?;
        Some(Finding {
            path: name.clone(),
            line,
            column,
            start: detection.start,
            end: detection.end,
            kind: rule.id.clone(),
            name: rule.name.clone(),
            confidence: detection.confidence,
            sample: rule.mask(value),
        })
    };
    scanned.detections.into_iter().filter_map(finding).collect()
}
