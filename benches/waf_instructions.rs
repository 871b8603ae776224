//! The rule engine over whole requests: instructions, counted by callgrind, against recorded figures.
//!
//! `cargo bench -p seclang --bench waf_instructions` fails where a case takes 5 % more than
//! `benches/instructions.txt` says; `-- --record` writes that file anew. Needs valgrind. Another compiler
//! than the one that the figures were recorded with makes other code: then nothing is compared.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a bench that cannot be set up ends")]

mod support;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use seclang::Plan;
use support::Case;

const LEVELS: [u8; 2] = [1, 4];
/// What a case may take more than its figure, in percent.
const TOLERANCE: u64 = 5;
const FIGURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/instructions.txt");

/// What callgrind counts, one function for each case: it tells functions apart, not calls.
mod measured {
    use super::{Arc, Case, Plan, black_box};

    pub type Run = fn(&Case, &Arc<Plan>);

    macro_rules! functions {
        ($($name:ident)*) => {
            $(#[inline(never)]
            fn $name(case: &Case, plan: &Arc<Plan>) {
                // Functions that differ in nothing would be made one.
                black_box((stringify!($name), case.run(black_box(plan))));
            })*

            pub const ALL: &[(&str, Run)] = &[$((stringify!($name), $name)),*];
        };
    }

    functions! {
        simple_get static_asset api_get simple_post form_8_fields json_post graphql sqli_get xss_get
        form_10kb json_10kb multipart_10kb prose_11kb comments_64kb tags_64kb expressions_64kb quoted_braces_64kb line_breaks_64kb quotes_64kb
        slashes_64kb code_spans_64kb
    }
}

/// Runs every case under one rule set and level: a few times to warm every cache, then measured.
fn run_all(set: &str, level: u8) {
    let rules = support::rule_set(set).expect("a rule set of this name");
    let plan = support::plan(&rules, level);
    for case in support::requests().iter().chain(&support::bodies()) {
        if let Some((_, measured)) = measured::ALL.iter().find(|(name, _)| *name == case.name) {
            (0..3).for_each(|_| {
                black_box(case.run(&plan));
            });
            measured(case, &plan);
        }
    }
}

/// Instructions by case, as callgrind counts them in copies of this process.
fn count() -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().expect("a folder for callgrind");
    let profile = folder.path().join("profile");
    let this = std::env::current_exe().expect("this program has a path");
    let mut counts = BTreeMap::new();
    for set in support::RULE_SETS.iter().filter(|set| support::paths(set).is_some()) {
        for level in LEVELS {
            let mut callgrind = Command::new("valgrind");
            callgrind.args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*::measured::*"]);
            callgrind.arg(format!("--callgrind-out-file={}", profile.display()));
            callgrind.arg(&this).args(["--run", set, &level.to_string()]);
            output(&mut callgrind);
            let annotate = ["--inclusive=yes", "--threshold=100", "--auto=no", "--show-percs=no"];
            let table = output(Command::new("callgrind_annotate").args(annotate).arg(&profile));
            for (case, _) in measured::ALL {
                let name = format!("::measured::{case} ");
                let row = table.lines().find(|line| line.contains(&name)).expect("a row for each case");
                let digits: String = row.split_whitespace().next().unwrap_or("").replace(',', "");
                let count = digits.parse().expect("a row begins with a number");
                counts.insert(format!("{set}/pl{level}/{case}"), count);
            }
        }
    }
    counts
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("valgrind is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The figures, and the compiler they were recorded with.
fn recorded() -> (BTreeMap<String, u64>, String) {
    let text = std::fs::read_to_string(FIGURES).unwrap_or_default();
    let compiler = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or("").to_owned();
    let rows = text.lines().filter_map(|line| line.split_once(' '));
    let rows = rows.filter_map(|(name, count)| Some((name.to_owned(), count.trim().parse().ok()?)));
    (rows.collect(), compiler)
}

fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    output(Command::new(rustc).arg("--version")).trim().to_owned()
}

fn main() -> ExitCode {
    let is = |flag: &str| std::env::args().any(|argument| argument == flag);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [run, set, level] = arguments.as_slice()
        && run == "--run"
    {
        run_all(set, level.parse().expect("a level is a number"));
        return ExitCode::SUCCESS;
    }
    if !is("--bench") {
        // `cargo test --all-targets` builds benches and runs them, to see that they do.
        return ExitCode::SUCCESS;
    }
    let ((mut figures, recorded_with), compiler) = (recorded(), compiler());
    let records = is("--record");
    if recorded_with != compiler && !records {
        println!("not compared: the figures were recorded with {recorded_with}, this is {compiler}");
        return ExitCode::SUCCESS;
    }
    let counts = count();
    let mut worse = 0;
    for (name, count) in &counts {
        let figure = figures.get(name).copied().unwrap_or(*count);
        let is_worse = count * 100 > figure * (100 + TOLERANCE);
        worse += usize::from(is_worse);
        println!("{name:40} {count:>12} {figure:>12}{}", if is_worse { "  worse" } else { "" });
    }
    if records {
        figures.extend(counts);
        let rows: String = figures.iter().map(|(name, count)| format!("{name} {count}\n")).collect();
        std::fs::write(FIGURES, format!("# {compiler}\n{rows}")).expect("the figures can be written");
        return ExitCode::SUCCESS;
    }
    println!("{worse} of {} cases take over {TOLERANCE} % more than recorded", counts.len());
    ExitCode::from(u8::from(worse > 0))
}
