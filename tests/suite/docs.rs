//! Documentation that cannot be wrong for long: references are made from the code, commands of pages are run, and dashboards
//! and alerts name metrics that there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use regex_automata::meta::Regex;
use serde_json::Value;

use crate::api::{TOKEN, edge};
use crate::support::{Origin, free_port, run_cli, wait_for};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn docs() -> PathBuf {
    Path::new(ROOT).join("docs")
}

/// Every metric with its labels.
fn metrics() -> BTreeMap<String, BTreeSet<String>> {
    let described = portcullis::events::Metrics::descriptions();
    assert!(described.len() > 50, "{}", described.len());
    let mut metrics: BTreeMap<String, BTreeSet<String>> =
        described.into_iter().map(|metric| (metric.name, metric.labels.into_iter().collect())).collect();
    // Of the process, and of Prometheus itself.
    for name in ["cpu_seconds_total", "max_fds", "open_fds", "resident_memory_bytes", "start_time_seconds"] {
        metrics.insert(format!("process_{name}"), BTreeSet::new());
    }
    metrics.insert("up".to_owned(), BTreeSet::new());
    metrics
}

/// What the first group of a pattern matches, each time.
fn matches<'t>(pattern: &str, text: &'t str) -> Vec<&'t str> {
    let pattern = Regex::new(pattern).unwrap();
    let groups = pattern.captures_iter(text).filter_map(|found| found.get_group(1));
    groups.map(|group| &text[group.range()]).collect()
}

/// Fails if a query names a metric or label that there is not.
fn check_query(query: &str, legend: &str, metrics: &BTreeMap<String, BTreeSet<String>>) -> usize {
    let mut labels: BTreeSet<&str> = BTreeSet::from(["instance", "job", "le"]);
    let names = matches(r"\b((?:portcullis|gen_ai_client|gen_ai_server|process)_[a-z_]+|up)\b", query);
    for name in &names {
        let plain = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let known = metrics.get(*name).or_else(|| metrics.get(plain?));
        let known = known.unwrap_or_else(|| panic!("there is no metric `{name}`: {query}"));
        labels.extend(known.iter().map(String::as_str));
    }
    assert!(!names.is_empty(), "{query}");
    let named = matches(r#"([a-z_]+)\s*(?:=~|!~|!=|=)\s*""#, query);
    let grouped = matches(r"by \(([a-z_, ]+)\)", query).into_iter().flat_map(|list| list.split(", "));
    let told = matches(r"\{\{ ?(?:\$labels\.)?([a-z_]+) ?\}\}", legend);
    for label in named.into_iter().chain(grouped).chain(told) {
        assert!(labels.contains(label), "no metric of the query has the label `{label}`: {query} {legend}");
    }
    names.len()
}

#[test]
fn dashboards_and_alerts_name_metrics_and_labels_that_there_are() {
    let folder = Path::new(ROOT).join("conf/monitoring");
    let metrics = metrics();
    let dashboard: Value =
        serde_json::from_slice(&std::fs::read(folder.join("grafana.json")).unwrap()).unwrap();
    let mut checked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let text = |name: &str| target[name].as_str().unwrap();
            checked += check_query(text("expr"), text("legendFormat"), &metrics);
        }
    }
    assert!(checked >= 25, "{checked}");
    let alerts = std::fs::read_to_string(folder.join("alerts.yml")).unwrap();
    let rules: Vec<&str> = alerts.split("- alert: ").skip(1).collect();
    for rule in &rules {
        let query = rule.split("expr:").nth(1).unwrap();
        let query = query.split("\n        labels:").next().unwrap().split("\n        for:").next().unwrap();
        check_query(query, rule.split("summary:").nth(1).unwrap(), &metrics);
    }
    assert_eq!(rules.len(), 13);
    let Some(promtool) = std::env::var("PROMTOOL").ok().filter(|path| !path.is_empty()) else {
        eprintln!("NOT RUN: promtool; `make test` gets it, PROMTOOL names it");
        return;
    };
    for arguments in [&["check", "rules", "alerts.yml"][..], &["test", "rules", "alerts_test.yml"]] {
        let output = Command::new(&promtool).args(arguments).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // A real scrape, as Prometheus reads it.
    let origin = Origin::echo();
    let (edge, _) = edge(&origin);
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut check.stdin.take().unwrap(), edge.metrics().as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    // Exit code 3 is advice about names, 1 a scrape that cannot be read.
    assert_ne!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A page of the reference: with RECORD it is written, else compared.
fn reference(name: &str, title: &str, text: &str) {
    let path = docs().join("reference").join(name);
    let page =
        format!("# {title}\n\nMade from the code by `RECORD=1 cargo test --test suite docs`.\n\n{text}");
    if std::env::var("RECORD").is_ok() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/reference/{name} is not what the code says; RECORD=1 writes it");
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[test]
fn the_reference_of_metrics_is_made_from_the_code() {
    let mut described = portcullis::events::Metrics::descriptions();
    described.sort_by(|one, other| one.name.cmp(&other.name));
    let mut text = "| metric | kind | labels | what it is |\n|---|---|---|---|\n".to_owned();
    for metric in described {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind, help) = (metric.name, metric.kind, cell(&metric.help));
        let _ = writeln!(text, "| `{name}` | {kind} | {} | {help} |", labels.join(" "));
    }
    text.push_str("\nBeside these `process_*`, as Prometheus names them: memory, processor time, descriptors, threads and start.\n");
    reference("metrics.md", "Metrics", &text);
}

#[test]
fn the_reference_of_events_is_made_from_the_code() {
    let folder = Path::new(ROOT).join("src/events/kinds");
    let mut rows = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let between =
            |start: &str, end: &str| Some(source.split(start).nth(1)?.split(end).next()?.to_owned());
        let Some(name) = between("const NAME: &'static str = \"", "\"") else { continue };
        let level = between("const LEVEL: Level = Level::", ";").unwrap().to_ascii_lowercase();
        let what = between("//! ", "\n").unwrap();
        rows.insert(name, (level, what));
    }
    assert!(rows.len() >= 25, "{}", rows.len());
    let mut text = "Each is a line of JSON with `time`, `level`, `msg` and `event`.\n\n| event | level | when |\n|---|---|---|\n".to_owned();
    for (name, (level, what)) in rows {
        let _ = writeln!(text, "| `{name}` | {level} | {} |", cell(&what));
    }
    reference("events.md", "Events", &text);
}

#[test]
fn the_reference_of_errors_is_made_from_the_code() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let mut text = "What `errors` of an answer of the management API has as `code`.\n\n| code | status | means |\n|---|---|---|\n".to_owned();
    let errors = api.get("/errors");
    let errors = errors.as_array().unwrap();
    assert!(errors.len() > 40, "{}", errors.len());
    for error in errors {
        let message =
            error["message"].as_str().or(error["description"].as_str()).or(error["cause"].as_str()).unwrap();
        let _ = writeln!(text, "| {} | {} | {} |", error["code"], error["status"], cell(message));
    }
    reference("errors.md", "Errors of the management API", &text);
}

#[test]
fn the_reference_of_commands_is_made_from_the_code() {
    fn describe(path: &[&str], text: &mut String, count: &mut usize) {
        let output = run_cli(&[path, &["--help"]].concat(), b"");
        let help = String::from_utf8(output.stdout).unwrap();
        let inner: Vec<String> = help
            .split("Commands:\n")
            .nth(1)
            .map(|list| list.split("\n\n").next().unwrap().lines())
            .into_iter()
            .flatten()
            .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned))
            .filter(|name| !name.is_empty() && name != "help")
            .collect();
        if inner.is_empty() {
            *count += 1;
            let _ =
                writeln!(text, "## `portcullis {}`\n\n```text\n{}\n```\n", path.join(" "), help.trim_end());
        }
        for name in inner {
            describe(&[path, &[name.as_str()]].concat(), text, count);
        }
    }
    let (mut text, mut count) = (String::new(), 0);
    describe(&[], &mut text, &mut count);
    assert!(count >= 39, "{count}");
    reference("commands.md", "Commands", text.trim_end());
}

/// The fenced blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        found.push((language.to_owned(), text.join("\n")));
    }
    found
}

struct Edges(Vec<Child>);

impl Drop for Edges {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Does what a page says, in a folder of its own: blocks of `toml` are its file, those of `sh` are run in order. The
/// addresses of pages are put where nobody else is; who says `portcullis run` goes on beside what follows.
fn follow(name: &str, page: &str) -> usize {
    let (folder, origin) =
        (tempfile::tempdir().unwrap(), Origin::fixed("text/html", "<p>card 4111 1111 1111 1111</p>"));
    let (proxy, admin, names) = (free_port(), free_port(), free_port());
    let placed = |text: &str| {
        text.replace("0.0.0.0:8080", &format!("127.0.0.1:{proxy}"))
            .replace(":8080", &format!(":{proxy}"))
            .replace(":9180", &format!(":{admin}"))
            .replace("http://127.0.0.1:9000", &origin.url())
            .replace("http://127.0.0.1:11434", &origin.url())
            .replace("127.0.0.1:5353", &format!("127.0.0.1:{names}"))
            .replace("-p 5353", &format!("-p {names}"))
    };
    let binary = Path::new(env!("CARGO_BIN_EXE_portcullis")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut edges = Edges(Vec::new());
    let mut ran = 0;
    for (language, text) in blocks(page) {
        let text = placed(&text);
        match language.as_str() {
            "toml" => std::fs::write(
                folder.path().join("portcullis.toml"),
                format!("{text}\n[admin]\naddress = \"127.0.0.1:{admin}\"\napi_tokens = [\"{TOKEN}\"]\n"),
            )
            .unwrap(),
            "sh" if text.starts_with("portcullis run") => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("exec {text}")).current_dir(folder.path()).env("PATH", &path);
                let log = std::fs::File::create(folder.path().join("portcullis.log")).unwrap();
                shell.stdout(log.try_clone().unwrap()).stderr(log);
                edges.0.push(shell.spawn().unwrap());
                let admin = format!("127.0.0.1:{admin}");
                wait_for("the edge of a page", || {
                    run_cli(&["health", "--admin", &admin], b"").status.success().then_some(())
                });
                ran += 1;
            }
            "sh" => {
                // A page that waits in vain fails. Without `pipefail`, as most shells are: who has found what it looks for
                // reads no more.
                let mut shell = Command::new("timeout");
                shell.args(["30", "bash", "-eu", "-c", &text]).current_dir(folder.path()).env("PATH", &path);
                shell.env("TOKEN", TOKEN).env("API", format!("http://127.0.0.1:{admin}/client/v4"));
                let output = shell.output().unwrap();
                let log = std::fs::read_to_string(folder.path().join("portcullis.log")).unwrap_or_default();
                assert!(
                    output.status.success(),
                    "docs/{name}:\n{text}\n{}{}\n{log}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                );
                ran += 1;
            }
            // `text` and `console` are to be read.
            "text" | "console" | "json" => {}
            other => panic!("docs/{name}: a block of `{other}`; expected sh, toml, text, console or json"),
        }
    }
    ran
}

#[test]
fn what_pages_say_can_be_done() {
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(docs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let index = std::fs::read_to_string(docs().join("README.md")).unwrap();
    let mut ran = 0;
    for path in &pages {
        let name = path.file_name().unwrap().to_str().unwrap();
        let page = std::fs::read_to_string(path).unwrap();
        assert!(name == "README.md" || index.contains(&format!("]({name})")), "the index has no {name}");
        // What a page points at is there.
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap();
            assert!(
                target.starts_with("http") || target.is_empty() || docs().join(target).exists(),
                "{name}: {link}"
            );
        }
        ran += follow(name, &page);
    }
    assert!(pages.len() >= 15 && ran >= 30, "{} pages, {ran} blocks", pages.len());
}
