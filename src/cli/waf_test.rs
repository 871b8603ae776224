//! `portcullis waf test`: regression tests of a rule set, on the engine in process.

mod table;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;

use super::deployment::Deployment;
use super::{Failure, print};
use crate::regression::{Outcome, Overrides, Report, Runner, Suite};
use crate::rules;
use crate::ruleset::managed::DEFAULT_SCORE_THRESHOLD;

/// Run regression tests (go-ftw YAML) on rules, and list those that fail.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  portcullis waf test --rules setup.conf crs-setup.conf rules --tests tests/regression/tests"
)]
pub(super) struct Test {
    /// SecLang files or folders, in the order in which they are to be read. A checkout of the Core Rule Set is read
    /// as it is: its set-up file, then `rules/`.
    #[arg(long, value_name = "FILE_OR_DIR", num_args = 1.., required = true)]
    rules: Vec<String>,
    /// The folder of the tests; every `.yaml` and `.yml` file below it is run.
    #[arg(long, value_name = "DIR")]
    tests: PathBuf,
    /// What is expected otherwise, in go-ftw's format, with a reason each.
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,
    /// Run the rules as a zone of this level does; without it all rules run, and none is enforced but by itself.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    paranoia_level: Option<u8>,
    /// Judge by the engine alone. Without it, what a server refuses before any rule sees it (a malformed host, a
    /// body shorter than its length) is answered with 400 if the test asks for a status.
    #[arg(long)]
    engine: bool,
    /// Count by family (file or folder) which attacks the rules refuse, whatever rule a test expects, and
    /// their false positives. Tests that expect a rule are attacks.
    #[arg(long, requires = "paranoia_level")]
    table: bool,
    /// With `--table`, list the attacks that were missed and the false alarms.
    #[arg(long, requires = "table")]
    list: bool,
    /// Print one JSON object for each failing test and one for the sum.
    #[arg(long, conflicts_with = "table")]
    json: bool,
}

#[derive(Serialize)]
struct FailedLine<'a> {
    test: &'a str,
    reason: &'a str,
}

#[derive(Debug, Default, Serialize)]
struct Sum {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Test {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let (ir, diagnostics) = rules::seclang(Some(&self.rules));
        let ir = diagnostics.into_result(ir)?;
        let overrides = match &self.overrides {
            Some(path) => Overrides::parse(&read(path)?).map_err(|reason| unreadable(path, &reason))?,
            None => Overrides::default(),
        };
        let program = Arc::new(seclang::optimize(&ir));
        let runner = match self.paranoia_level {
            Some(paranoia_level) => {
                let deployment = Deployment { paranoia_level, score_threshold: DEFAULT_SCORE_THRESHOLD };
                let plan = deployment.scored_ruleset(&program).plan;
                Runner::with_plan(program, plan, overrides)
            }
            None => Runner::new(program, overrides),
        };
        let runner = if self.engine { runner.engine_alone() } else { runner };
        if self.table {
            return self.print_table(&runner);
        }
        let mut sum = Sum::default();
        let mut text = String::new();
        for (_, suite) in suites(&self.tests)? {
            for report in suite.tests.iter().map(|test| runner.run(test)) {
                sum.add(&report);
                self.describe(&report, &mut text);
            }
        }
        if sum.passed + sum.failed == 0 {
            return Err(Failure::Input(format!("there is no test below `{}`", self.tests.display())));
        }
        // INVARIANT: writing to a `String` cannot fail, and a struct of numbers always serialises.
        let _ = if self.json {
            writeln!(text, "{}", serde_json::to_string(&sum).unwrap_or_default())
        } else {
            writeln!(text, "{} passed, {} failed, {} skipped", sum.passed, sum.failed, sum.skipped)
        };
        print(&text)?;
        match sum.failed {
            0 => Ok(()),
            1 => Err(Failure::Input("1 test failed".to_owned())),
            failed => Err(Failure::Input(format!("{failed} tests failed"))),
        }
    }

    fn print_table(&self, runner: &Runner) -> Result<(), Failure> {
        let mut table = table::Table::default();
        let mut text = String::new();
        for (path, suite) in suites(&self.tests)? {
            for test in &suite.tests {
                let sample = runner
                    .sample(test)
                    .map_err(|reason| unreadable(&path, &format!("{}: {reason}", test.id)))?;
                if self.list && sample.is_attack != sample.is_refused {
                    let word = if sample.is_attack { "missed" } else { "false alarm" };
                    // INVARIANT: writing to a `String` cannot fail.
                    let _ = writeln!(text, "{word}: {} {:?}", test.id, sample.rules);
                }
                table.add(table::family(&self.tests, &path), &sample);
            }
        }
        table.render(&mut text);
        print(&text)
    }

    fn describe(&self, report: &Report, text: &mut String) {
        let Outcome::Failed(reason) = &report.outcome else { return };
        // INVARIANT: writing to a `String` cannot fail.
        let _ = if self.json {
            let line = FailedLine { test: &report.test, reason };
            writeln!(text, "{}", serde_json::to_string(&line).unwrap_or_default())
        } else {
            writeln!(text, "{}: {reason}", report.test)
        };
    }
}

impl Sum {
    fn add(&mut self, report: &Report) {
        match report.outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
        }
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error.to_string()))
}

fn unreadable(path: &Path, reason: &str) -> Failure {
    Failure::Input(format!("cannot read `{}`: {reason}", path.display()))
}

/// Every test file below a folder, in the order of their names.
pub(super) fn suites(folder: &Path) -> Result<Vec<(PathBuf, Suite)>, Failure> {
    let parse = |path: PathBuf| match Suite::parse(&read(&path)?) {
        Ok(suite) => Ok((path, suite)),
        Err(reason) => Err(unreadable(&path, &reason)),
    };
    yaml_files(folder)?.into_iter().map(parse).collect()
}

/// Every YAML file below a folder, sorted.
fn yaml_files(folder: &Path) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut files = BTreeSet::new();
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error.to_string()))?;
    for entry in entries {
        let path = entry.map_err(|error| unreadable(folder, &error.to_string()))?.path();
        if path.is_dir() {
            files.extend(yaml_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.insert(path);
        }
    }
    Ok(files)
}
