//! Matcher against oracle, on requests that are mutated and recombined from seeds.
//!
//! `PORTCULLIS_DIFFERENTIAL=n` sets how many, `=m..n` which of them (each has its number, so that a
//! long run can be made in parts); `CRS_DIR` adds the Core Rule Set's own tests as seeds.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use portcullis::regression::{RawRequest, Suite};
use seclang::ir::{CollectionActionIr, ItemIr};
use seclang::oracle::{Exchange, Memo, Phases, by_matcher, by_oracle};
use seclang::{Plan, PlanSettings, RuleSetIr};

/// The rule of `tests/data/crs/setup.conf`.
const SETUP_RULE: u64 = 900_005;

const SEEDS: &[(&str, &str, &str)] = &[
    ("/shop/list?page=2&sort=price", "", ""),
    ("/items?id=1%27%20UNION%20SELECT%20a,b%20FROM%20users--", "", ""),
    ("/view?file=..%2f..%2fetc/passwd", "", ""),
    ("/q?x=<script>alert(1)</script>&y=javascript:alert(1)", "", ""),
    ("/api", "application/json", r#"{"a":[1,{"b":"$(cat /etc/passwd)"}],"c.d":"__proto__"}"#),
    ("/form", "application/x-www-form-urlencoded", "a=1&b=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E&c=%ff%fe"),
    ("/xml", "application/xml", "<a b='x&lt;y'>1 or 1=1<c/></a>"),
    (
        "/upload",
        "multipart/form-data; boundary=B",
        "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.php\"\r\n\r\n<?php eval($_GET[0]);\r\n--B--\r\n",
    ),
    ("/text", "text/plain", "{{7*7}} ${jndi:ldap://x} `id`"),
];

/// A small generator (xorshift): the same numbers every time.
struct Random(u64);

impl Random {
    /// Its own numbers for each request, whoever runs it: a failure can be run again.
    fn nth(nth: usize) -> Self {
        Self(0x2545_f491_4f6c_dd1d ^ (nth as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn seeds() -> Vec<Exchange> {
    let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    let mut seeds: Vec<Exchange> = SEEDS
        .iter()
        .map(|(target, content_type, body)| {
            let mut headers = vec![
                field("Host", "a.example"),
                field("User-Agent", "Mozilla/5.0"),
                field("Cookie", "s=1; t=x' or 1"),
            ];
            if !content_type.is_empty() {
                headers.push(field("Content-Type", content_type));
                headers.push(field("Content-Length", &body.len().to_string()));
            }
            let method = if body.is_empty() { "GET" } else { "POST" };
            Exchange {
                method: method.into(),
                target: (*target).into(),
                headers,
                body: (*body).into(),
                response: b"<title>Index of /</title> ORA-00933: SQL command not properly ended".to_vec(),
            }
        })
        .collect();
    if let Ok(folder) = std::env::var("CRS_DIR") {
        let mut folders = vec![std::path::PathBuf::from(folder).join("tests/regression/tests")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(suite) = Suite::parse(&std::fs::read_to_string(&path).unwrap_or_default()) {
                    seeds.extend(
                        suite
                            .tests
                            .iter()
                            .filter_map(|test| test.requests().ok())
                            .flatten()
                            .filter_map(|raw| parse(&raw)),
                    );
                }
            }
        }
    }
    if std::env::var_os("PORTCULLIS_DIFFERENTIAL").is_none() {
        seeds.truncate(100);
    }
    seeds
}

fn parse(raw: &[u8]) -> Option<Exchange> {
    let request = RawRequest::split(raw).ok()?;
    let (method, target, _) = request.parts().ok()?;
    Some(Exchange {
        method: method.to_vec(),
        target: target.to_vec(),
        headers: request.headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
        body: request.body.to_vec(),
        response: request.body.to_vec(),
    })
}

/// A seed with parts of another in it, and bytes changed.
fn mutate(seeds: &[Exchange], random: &mut Random) -> Exchange {
    let mut exchange = seeds[random.below(seeds.len())].clone();
    let other = &seeds[random.below(seeds.len())];
    match random.below(6) {
        0 => exchange.target = other.target.clone(),
        1 => exchange.headers.extend(other.headers.iter().take(3).cloned()),
        2 => exchange.body = other.body.clone(),
        3 => {
            let from = random.below(other.body.len() + 1);
            exchange.body.extend_from_slice(&other.body[from..]);
        }
        4 => {
            exchange.target.push(b'&');
            let from = random.below(other.target.len() + 1);
            exchange.target.extend_from_slice(&other.target[from..]);
        }
        _ => {}
    }
    for _ in 0..random.below(4) {
        let bytes = match random.below(4) {
            0 => &mut exchange.target,
            1 => &mut exchange.body,
            2 => &mut exchange.response,
            _ => match exchange.headers.len() {
                0 => &mut exchange.target,
                count => &mut exchange.headers[random.below(count)].1,
            },
        };
        let at = random.below(bytes.len() + 1);
        match random.below(3) {
            0 => bytes.insert(at, random.next() as u8),
            1 if at < bytes.len() => bytes[at] = b"%+\\'\"<>&;/.{}$ \n\0"[random.below(17)],
            _ => bytes.truncate(at),
        }
    }
    exchange
}

/// Runs seeds and mutations, on every core; the number of requests and of matches. The seeds come
/// before the first mutation.
fn agree(ir: &RuleSetIr, mutations: Range<usize>) -> (usize, usize) {
    let seeds = seeds();
    let first = if mutations.start == 0 { 0 } else { seeds.len() + mutations.start };
    let end = seeds.len() + mutations.end;
    let (next, matches) = (AtomicUsize::new(first), AtomicUsize::new(0));
    let worker = || {
        // A program of its own, for persistent collections are the program's.
        let program = Arc::new(seclang::optimize(ir));
        let plans = [1, 2, 3, 4].map(|level| {
            let settings = settings(level);
            (Arc::new(Plan::new(Arc::clone(&program), &settings)), settings)
        });
        let (phases, mut memo) = (Phases::of(ir), Memo::default());
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if nth >= end {
                return;
            }
            let mutated = || mutate(&seeds, &mut Random::nth(nth));
            let exchange = seeds.get(nth).cloned().unwrap_or_else(mutated);
            program.forget_collections();
            // Mostly all rules, at times those of a lower level.
            let (plan, settings) = &plans[if nth % 4 == 0 { nth / 4 % 4 } else { 3 }];
            let matcher = by_matcher(plan, &exchange);
            let oracle = by_oracle(&phases, settings, &mut memo, &exchange);
            assert_eq!(matcher, oracle, "request {nth}: {exchange:?}");
            matches.fetch_add(matcher.0.len(), Ordering::Relaxed);
            memo.trim();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    (end - first, matches.into_inner())
}

/// What a zone of this paranoia level starts from.
fn settings(level: u8) -> PlanSettings {
    let names =
        ["blocking_paranoia_level", "detection_paranoia_level", "paranoia_level", "executing_paranoia_level"];
    let entry = |name: &str| (name.to_owned(), level.to_string());
    PlanSettings { variables: names.map(entry).to_vec(), ..PlanSettings::default() }
}

fn mutations(default: usize) -> Range<usize> {
    let Ok(text) = std::env::var("PORTCULLIS_DIFFERENTIAL") else { return 0..default };
    let (start, end) = text.split_once("..").unwrap_or(("0", &text));
    start.parse().unwrap()..end.parse().unwrap()
}

#[test]
fn the_rules_in_the_binary() {
    let (ir, _) = portcullis::rules::seclang(None);
    let (requests, matches) = agree(&ir, mutations(300));
    assert!(matches > SEEDS.len(), "{matches} matches in {requests} requests");
}

#[test]
fn the_core_rule_set() {
    let setup = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/crs/setup.conf").to_owned();
    let paths = match std::env::var("CRS_DIR") {
        Ok(folder) => vec![setup, format!("{folder}/crs-setup.conf.example"), format!("{folder}/rules")],
        Err(_) => vec![
            setup,
            "/etc/modsecurity/crs/crs-setup.conf".into(),
            "/usr/share/modsecurity-crs/rules".into(),
        ],
    };
    let (mut ir, diagnostics) = portcullis::rules::seclang(Some(&paths));
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    // The level is the plan's.
    for item in &mut ir.items {
        if let ItemIr::Rule(rule) = item
            && rule.id == SETUP_RULE
        {
            let sets_level = |action: &CollectionActionIr| match action {
                CollectionActionIr::Set(set) => set.name.to_string().ends_with("paranoia_level"),
                _ => false,
            };
            rule.actions.collections.retain(|action| !sets_level(action));
        }
    }
    let (requests, matches) = agree(&ir, mutations(100));
    assert!(matches > requests / 2, "{matches} matches in {requests} requests");
}
