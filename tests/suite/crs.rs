//! The OWASP Core Rule Set as Debian ships it (3.3.4), whole: its own regression tests, and its
//! verdicts in blocking mode. With `CRS_DIR` set to a checkout of v4.28.0, that suite too.

use std::path::{Path, PathBuf};

use diagnostic::Diagnostics;
use portcullis::rules::{self, Rules};
use portcullis::ruleset::{EntryPoint, ManagedRuleset, Outcome, ScoredRuleset, Verdict, overrides};

use crate::support::{self, run_cli};

pub const DEBIAN_SETUP: &str = "/etc/modsecurity/crs/crs-setup.conf";
pub const DEBIAN_RULES: &str = "/usr/share/modsecurity-crs/rules";

pub fn data(name: &str) -> String {
    format!("{}/tests/data/crs/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs `waf test` and checks its last line.
fn suite(setup: &str, rules: &str, tests: &Path, overrides: &str, last_line: &str) {
    let setup_of_tests = data("setup.conf");
    let overrides = data(overrides);
    let arguments = [
        "waf",
        "test",
        "--rules",
        &setup_of_tests,
        setup,
        rules,
        "--tests",
        tests.to_str().unwrap(),
        "--overrides",
        &overrides,
    ];
    let output = run_cli(&arguments, b"");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().last(), Some(last_line), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
}

/// The tests of 3.3.4, unpacked.
pub fn tests_of_334() -> (tempfile::TempDir, PathBuf) {
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/crs-3.3.4/tests.tar.gz");
    let folder = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("tar")
        .arg("xzf")
        .arg(archive)
        .arg("-C")
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(status.success(), "cannot unpack {archive}");
    let path = folder.path().join("crs-3.3.4-tests");
    (folder, path)
}

#[test]
fn the_suite_of_334_passes() {
    let (_folder, tests) = tests_of_334();
    suite(
        DEBIAN_SETUP,
        DEBIAN_RULES,
        &tests,
        "engine-overrides-3.3.yaml",
        "2403 passed, 0 failed, 0 skipped",
    );
}

#[test]
#[ignore = "needs CRS_DIR, a checkout of coreruleset v4.28.0"]
fn the_suite_of_4_28_0_passes() {
    let folder = checkout_of_4_28_0();
    suite(
        &format!("{folder}/crs-setup.conf.example"),
        &format!("{folder}/rules"),
        &Path::new(&folder).join("tests/regression/tests"),
        "engine-overrides.yaml",
        "5003 passed, 0 failed, 0 skipped",
    );
}

/// The stock rules with the stock setup file, as a zone would deploy them.
fn deployed(rules: &Rules, level: u8, threshold: i64) -> EntryPoint {
    EntryPoint::scoring(scored(rules, level, threshold))
}

fn scored(rules: &Rules, level: u8, threshold: i64) -> ScoredRuleset {
    let managed = &rules.owasp;
    let mut diagnostics = Diagnostics::default();
    let settings = overrides::short_form(managed, level, threshold);
    let effective = overrides::apply(managed, &settings, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    let scored = ScoredRuleset::new(&rules.program, managed, &effective);
    assert_eq!(scored.threshold_rule.to_string(), managed.threshold_rule().unwrap().reference);
    scored
}

/// Asserts that a rule of the package refused a request with 403.
fn assert_refused_by(rule: &str, outcome: &Outcome) {
    let Outcome::Blocked { rule: found, status } = outcome else { panic!("{outcome:?}") };
    assert_eq!((found.reference.as_str(), *status), (rule, 403));
    assert_eq!(found.ruleset, ManagedRuleset::owasp_id());
}

/// The rules of Debian's package, after settings of the user's own.
fn debian(settings: &str) -> Rules {
    load(settings, DEBIAN_SETUP, DEBIAN_RULES)
}

/// The set leaves bodies that cannot be read to its engine's configuration, which here is on its side.
#[test]
fn bodies_that_cannot_be_read_are_scored() {
    let entry_point = deployed(&debian(""), 1, 5);
    let multipart = &b"multipart/form-data; boundary=B"[..];
    let two_names = b"--B\r\nContent-Disposition: form-data; name=\"a\"; name=\"b\"\r\n\r\n1\r\n--B--\r\n";
    for (content_type, body, rule) in [
        (&b"application/json"[..], &b"{\"a\":1}"[..], None),
        (b"application/json", b"{\"a\":1", Some(200_002)),
        (b"application/xml", b"<a>", Some(200_002)),
        (multipart, b"--B\r\n", Some(200_002)),
        (multipart, two_names, Some(200_003)),
    ] {
        let verdict = support::judge(&entry_point, None, "/", &[("Content-Type", content_type)], body);
        let is_refused = support::is_refused(&verdict);
        let has_rule = |rule| verdict.matches.iter().any(|found| found.rule == rule);
        assert!(is_refused == rule.is_some() && rule.is_none_or(has_rule), "{body:?}: {verdict:?}");
    }
}

/// Where v4.28.0 is.
pub fn checkout_of_4_28_0() -> String {
    std::env::var("CRS_DIR").expect("CRS_DIR names a checkout of coreruleset v4.28.0")
}

/// The rules of v4.28.0, the same way.
fn newest(settings: &str) -> Rules {
    let folder = checkout_of_4_28_0();
    load(settings, &format!("{folder}/crs-setup.conf.example"), &format!("{folder}/rules"))
}

fn load(settings: &str, setup: &str, rules: &str) -> Rules {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), settings).unwrap();
    let paths = [file.path().to_str().unwrap(), setup, rules].map(str::to_owned);
    rules::load(Some(&paths), None).unwrap().0
}

fn judge(entry_point: &EntryPoint, target: &str, headers: &[(&str, &str)], body: &'static str) -> Verdict {
    let fields: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    support::judge(entry_point, None, target, &fields, body)
}

const FORM: &[(&str, &str)] = &[("Content-Type", "application/x-www-form-urlencoded")];
const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

/// A name, a target, header fields and a body.
type Request = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

const REQUESTS: &[Request] = &[
    ("page", "/", &[], ""),
    ("search", "/search?q=winter+boots&page=2&sort=price", &[], ""),
    ("form", "/contact", FORM, "name=Ada+Lovelace&mail=ada%40example.com&text=See+you+on+Monday."),
    ("json", "/api/orders", JSON, r#"{"id":17,"items":[{"sku":"A-1","count":2}]}"#),
    ("sql", "/items?id=1%27%20UNION%20SELECT%20name,pass%20FROM%20users--%20", &[], ""),
    ("sql in json", "/api/orders", JSON, r#"{"id":"1' OR 1=1 -- "}"#),
    ("xss", "/search?q=%3Cscript%3Ealert(1)%3C/script%3E", &[], ""),
    ("traversal", "/view?file=../../../../etc/passwd", &[], ""),
    ("shell", "/ping", FORM, "host=127.0.0.1%3Bcat+/etc/passwd"),
    ("scanner", "/", &[("User-Agent", "sqlmap/1.7")], ""),
];

/// For each request and paranoia level the verdict, the score and what matched.
fn verdicts(rules: &Rules) -> String {
    let mut table = String::new();
    for (name, target, headers, body) in REQUESTS {
        for level in 1..=4 {
            let verdict = judge(&deployed(rules, level, 5), target, headers, body);
            let ids: Vec<String> =
                verdict.matches.iter().filter(|m| m.score > 0).map(|m| m.rule.to_string()).collect();
            let word = match verdict.outcome {
                Outcome::Pass => "pass".to_owned(),
                Outcome::Logged { rule } => format!("log {}", rule.reference),
                Outcome::Blocked { rule, status } => format!("{status} by {}", rule.reference),
                Outcome::Challenged { rule, .. } => format!("challenged by {}", rule.reference),
            };
            table.push_str(&format!(
                "{name} {level}: {word}, score {} [{}]\n",
                verdict.score.all,
                ids.join(" ")
            ));
        }
    }
    table
}

#[test]
fn verdicts_in_blocking_mode_by_level_and_threshold() {
    insta::assert_snapshot!(verdicts(&debian("")));
}

#[test]
#[ignore = "needs CRS_DIR, a checkout of coreruleset v4.28.0"]
fn verdicts_of_4_28_0_in_blocking_mode() {
    insta::assert_snapshot!("verdicts_of_4_28_0", verdicts(&newest("")));
}

#[test]
#[ignore = "needs CRS_DIR, a checkout of coreruleset v4.28.0"]
fn early_blocking_of_4_28_0_refuses_before_the_body() {
    let rules = newest(r#"SecAction "id:1,phase:1,pass,nolog,setvar:tx.early_blocking=1""#);
    let entry_point = deployed(&rules, 1, 5);
    // The scanner shows in the headers, the injection only in the body.
    let (_, target, headers, body) = REQUESTS[9];
    assert_refused_by("949111", &judge(&entry_point, target, headers, body).outcome);
    let (_, target, headers, body) = REQUESTS[5];
    assert_refused_by("949110", &judge(&entry_point, target, headers, body).outcome);
    let (_, target, headers, body) = REQUESTS[0];
    assert_eq!(judge(&entry_point, target, headers, body).outcome, Outcome::Pass);
}

#[test]
fn sampling_takes_the_share_that_is_set() {
    samples_the_share_that_is_set(debian);
}

#[test]
#[ignore = "needs CRS_DIR, a checkout of coreruleset v4.28.0"]
fn sampling_of_4_28_0_takes_the_share_that_is_set() {
    samples_the_share_that_is_set(newest);
}

fn samples_the_share_that_is_set(load: impl Fn(&str) -> Rules) {
    let blocked = |rules: &Rules| {
        let entry_point = deployed(rules, 1, 5);
        let (_, target, headers, body) = REQUESTS[4];
        (0..200).filter(|_| judge(&entry_point, target, headers, body).outcome != Outcome::Pass).count()
    };
    let setting = |percent: u32| {
        format!(r#"SecAction "id:1,phase:1,pass,nolog,setvar:tx.sampling_percentage={percent}""#)
    };
    for percent in [0, 50, 100] {
        let count = blocked(&load(&setting(percent)));
        match percent {
            0 => assert_eq!(count, 0),
            100 => assert_eq!(count, 200),
            _ => assert!((50..150).contains(&count), "{count} of 200 at {percent} %"),
        }
    }
}

#[test]
fn thresholds_and_actions_are_those_of_the_ruleset() {
    takes_thresholds_and_actions(&debian(""));
}

#[test]
#[ignore = "needs CRS_DIR, a checkout of coreruleset v4.28.0"]
fn thresholds_and_actions_of_4_28_0_are_those_of_the_ruleset() {
    takes_thresholds_and_actions(&newest(""));
}

fn takes_thresholds_and_actions(rules: &Rules) {
    let (_, target, headers, body) = REQUESTS[4];
    let score = judge(&deployed(rules, 1, 5), target, headers, body).score.all;
    assert!(score > 5);
    let at = |threshold| judge(&deployed(rules, 1, threshold), target, headers, body).outcome;
    assert_refused_by("949110", &at(score));
    assert_eq!(at(score + 1), Outcome::Pass);
}

#[test]
fn the_managed_ruleset_is_made_of_the_roots() {
    let rules = debian("");
    let managed = &rules.owasp;
    let sqli = managed.rules.iter().find(|rule| rule.reference == "942100").unwrap();
    assert_eq!(sqli.description, "SQL Injection Attack Detected via libinjection");
    assert!(sqli.categories.iter().any(|category| category == "paranoia-level-1"));
    assert_eq!(managed.threshold_rule().unwrap().reference, "949110");
    let mut ids: Vec<String> = managed.rules.iter().map(|rule| rule.id.to_string()).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are unique");
    // A disabled level costs nothing: its rules are not in the plan.
    let rules_at = |level| scored(&rules, level, 5).plan.rules();
    assert!(rules_at(1) < rules_at(2) && rules_at(2) < rules_at(3) && rules_at(3) < rules_at(4));
}
