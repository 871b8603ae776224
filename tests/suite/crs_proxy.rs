//! The Core Rule Set's own tests, as raw bytes through the real proxy, with a reflector behind it.
//!
//! What differs from the engine in process is the HTTP server in front: `overrides.yaml` names each
//! case with its reason.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};

use portcullis::regression::{Answer, LogLine, Outcome, Overrides, Suite};

use super::crs::{DEBIAN_RULES, DEBIAN_SETUP, checkout_of_4_28_0, data, tests_of_334};
use crate::support::{Client, Edge, Origin, Response, wait_for};

/// Answers `/reflect` with what the body asks for, everything else with an empty 200.
fn reflector() -> Origin {
    Origin::start(|request, stream| {
        let asked: serde_json::Value = if request.path().starts_with("/reflect") {
            serde_json::from_slice(&request.body).unwrap_or_default()
        } else {
            serde_json::Value::Null
        };
        let status = asked["status"].as_u64().unwrap_or(200);
        let body = asked["body"].as_str().unwrap_or("");
        let mut head = format!("HTTP/1.1 {status} Reflected\r\ncontent-length: {}\r\n", body.len());
        let headers = asked["headers"].as_object();
        if headers.is_none_or(|headers| !headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")))
        {
            head.push_str("content-type: text/plain\r\n");
        }
        for (name, value) in headers.into_iter().flatten() {
            head.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap_or("")));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).is_ok()
    })
}

fn yaml_files(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            files.insert(path);
        }
    }
}

/// The hosts that requests name: each needs a zone.
fn hosts(requests: &[Vec<u8>]) -> BTreeSet<String> {
    let named = requests.iter().flat_map(|raw| {
        let text = String::from_utf8_lossy(raw).into_owned();
        text.lines()
            .filter_map(|line| line.to_ascii_lowercase().strip_prefix("host:").map(str::to_owned))
            .collect::<Vec<_>>()
    });
    let host = |value: String| value.trim().split(':').next().unwrap_or("").to_owned();
    named
        .map(host)
        .filter(|host| {
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-')
        })
        .collect()
}

/// Sends one request and reads the answer, where there is one.
fn send(edge: &Edge, raw: &[u8]) -> Option<Response> {
    let mut client = Client::connect(edge.proxy[0]);
    client.send(raw);
    client.receive()
}

/// Runs every test of a folder through the proxy; the count, and the failures.
fn run(setup: &str, rules: &str, tests: &Path, overrides: &str) -> (usize, Vec<String>) {
    let mut files = BTreeSet::new();
    yaml_files(tests, &mut files);
    let tests: Vec<_> = files
        .iter()
        .flat_map(|file| Suite::parse(&std::fs::read_to_string(file).unwrap()).unwrap().tests)
        .collect();
    let requests: Vec<Vec<Vec<u8>>> = tests.iter().map(|test| test.requests().unwrap()).collect();
    let overrides = Overrides::parse(&std::fs::read_to_string(data(overrides)).unwrap()).unwrap();
    let origin = reflector();
    let zones: String = hosts(&requests.concat())
        .iter()
        .map(|host| {
            format!(
                "[[zones]]\nname = \"{host}\"\norigins = [\"http://{}\"]\n[zones.waf]\nparanoia_level = 4\nresponse_rules = true\n",
                origin.address
            )
        })
        .collect();
    let setup_of_tests = data("setup.conf");
    let mut edge = Edge::start(&format!(
        "log_level = \"debug\"\n[rules]\nowasp = [\"{setup_of_tests}\", \"{setup}\", \"{rules}\"]\n[upstream]\nread_timeout = \"1s\"\n[limits]\nheader_deadline = \"1s\"\nidle_timeout = \"1s\"\nheader_section = \"128KiB\"\nrequest_line = \"60KB\"\narguments = 5000\n{zones}"
    ));
    // Answers first: what rules said of them is in the log, by the request's id.
    let answers: Vec<Vec<Option<Response>>> =
        requests.iter().map(|stages| stages.iter().map(|raw| send(&edge, raw)).collect()).collect();
    let rays: BTreeSet<String> = answers
        .iter()
        .flatten()
        .flatten()
        .filter_map(|response| response.header("svc-ray"))
        .map(str::to_owned)
        .collect();
    let last =
        answers.iter().flatten().flatten().filter_map(|response| response.header("svc-ray")).next_back();
    let last = last.expect("at least one answer").to_owned();
    edge.wait_for_event("request", |event| event["RayID"] == last.as_str());
    let log = wait_for("the events of every request", || {
        let mut log: HashMap<String, Vec<LogLine>> = HashMap::new();
        let mut finished = BTreeSet::new();
        for event in edge.events() {
            let ray = event["RayID"].as_str().unwrap_or("").to_owned();
            match event["event"].as_str() {
                Some("request") => {
                    finished.insert(ray);
                }
                Some("rule_matched") => log.entry(ray).or_default().push(line(&event)),
                _ => {}
            }
        }
        rays.is_subset(&finished).then_some(log)
    });
    let mut failures = Vec::new();
    for (test, answers) in tests.iter().zip(&answers) {
        let answers: Vec<Answer> = answers
            .iter()
            .map(|response| Answer {
                status: response.as_ref().map(|response| response.status),
                log: response
                    .as_ref()
                    .and_then(|response| log.get(response.header("svc-ray")?))
                    .cloned()
                    .unwrap_or_default(),
            })
            .collect();
        if let Outcome::Failed(reason) = test.judge(&answers, &overrides) {
            failures.push(format!("{}: {reason}", test.id));
        }
    }
    (tests.len(), failures)
}

fn line(event: &serde_json::Value) -> LogLine {
    let text = |name: &str| event[name].as_str().unwrap_or("").to_owned();
    let tags: Vec<String> = event["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tag| tag.as_str().map(str::to_owned))
        .collect();
    let rule = text("Ref").parse().unwrap();
    LogLine::new(rule, &text("variable"), &text("Description"), &text("data"), &text("severity"), &tags)
}

#[test]
fn the_suite_of_334_passes_through_the_proxy() {
    let (_folder, tests) = tests_of_334();
    let (count, failures) = run(DEBIAN_SETUP, DEBIAN_RULES, &tests, "overrides-3.3.yaml");
    assert_eq!((count, failures.len()), (2403, 0), "{}", failures.join("\n"));
}

#[test]
#[ignore = "needs CRS_DIR, a checkout of coreruleset v4.28.0"]
fn the_suite_of_4_28_0_passes_through_the_proxy() {
    let folder = checkout_of_4_28_0();
    let tests = Path::new(&folder).join("tests/regression/tests");
    let (setup, rules) = (format!("{folder}/crs-setup.conf.example"), format!("{folder}/rules"));
    let (count, failures) = run(&setup, &rules, &tests, "overrides.yaml");
    assert_eq!((count, failures.len()), (5003, 0), "{}", failures.join("\n"));
}
