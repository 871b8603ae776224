//! Scanner against plain scanner, on the examples of all rules, put into texts, mutated and joined.
//!
//! `SCANNER_TEXTS=n` sets how many texts are made, `=m..n` which of them: each has its number, so that a failure can be
//! run again alone.

use std::fmt::Write;

use super::{Detector, oracle};
use crate::load::{self, Trust};
use crate::rule::RuleFile;

/// Texts that a test run makes.
const TEXTS: usize = 1_500;

/// What examples are put into; `#` stands for one.
const FRAMES: &[&str] = &[
    "#",
    "# #",
    "{\"id\":17,\"value\":\"#\",\"key\": \"#\"}",
    "name,number,total\nAnn,#,17\nBob,#,#\n",
    "card number;iban;passport\n#;#;#\n",
    "<table><tr><th>SSN</th><th>Token</th></tr><tr><td>#</td><td>#</td></tr></table>",
    "2026-11-22T10:00:00Z INFO user=# took 0.25 s",
    "password: # and NHS number # or IBAN #",
    "&quot;#&quot; \\u0022#\\u0022 %20#%20",
    "1 2 3 4 5 6 # 7 8 9 10 11 12",
];

/// What is put between bytes of a text.
const PIECES: &[&str] = &[
    "\"",
    "'",
    ":",
    "=",
    "@",
    "-",
    " ",
    ".",
    "/",
    "\n",
    ",",
    ";",
    "0",
    "9",
    "A",
    "z",
    "_",
    "<",
    "</td>",
    "&#45;",
    "\\u0040",
    "%40",
    "&amp;",
    "key",
    "tax id",
    "É",
    "身份证",
    "://",
    "00:11:22:33:44:55",
    "GB82",
    "\u{a0}",
];

/// The same numbers every time (xorshift).
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap()
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

fn shipped() -> (Detector, Vec<String>) {
    let sources: Vec<_> = shipped_rules::SENSITIVE_DATA
        .iter()
        .map(|(name, text)| diagnostic::Source::new(*name, *text))
        .collect();
    let (detector, diagnostics) = load::load(&sources, Trust::BuiltIn);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let files = shipped_rules::SENSITIVE_DATA
        .iter()
        .flat_map(|(_, text)| serde_saphyr::from_str::<Vec<RuleFile>>(text).unwrap());
    let examples = files.flat_map(|file| file.examples.into_iter().chain(file.counter_examples));
    (detector, examples.map(|text| text.replace("{+}", "")).collect())
}

/// A text by its number.
fn text(nth: usize, seeds: &[String]) -> Vec<u8> {
    let mut numbers = Xorshift(0x2545_f491_4f6c_dd1d ^ (nth as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut text = String::new();
    for part in numbers.of(FRAMES).split_inclusive('#') {
        let (before, has_seed) = part.strip_suffix('#').map_or((part, false), |before| (before, true));
        text.push_str(before);
        if has_seed {
            text.push_str(&seeds[numbers.below(seeds.len())]);
        }
    }
    let mut text = text.into_bytes();
    for _ in 0..numbers.below(6) {
        let at = numbers.below(text.len());
        match numbers.below(4) {
            0 => drop(text.splice(at..at, numbers.of(PIECES).bytes())),
            1 => drop(text.splice(at..text.len().min(at + 1 + numbers.below(3)), [])),
            2 => text[at] = u8::try_from(numbers.below(256)).unwrap(),
            _ => text[at] = *numbers.of(b"0123456789ABCXYZabcxyz-_ .:/@"),
        }
        if text.is_empty() {
            text.push(b'0');
        }
    }
    text
}

#[test]
fn the_scanner_finds_what_the_plain_one_finds() {
    let (detector, seeds) = shipped();
    assert!(seeds.len() > 1_000, "{} examples", seeds.len());
    let wanted = std::env::var("SCANNER_TEXTS").unwrap_or_default();
    let (first, last) = wanted.split_once("..").unwrap_or(("0", &wanted));
    let texts = first.parse().unwrap_or(0)..last.parse().unwrap_or(TEXTS);
    let (mut ran, mut findings, mut differences) = (0, 0, String::new());
    for nth in texts {
        let body = text(nth, &seeds);
        let found = detector.scan(&body, &|_| true);
        assert!(!found.exhausted);
        let plain = oracle::scan(&detector, &body, &|_| true);
        if found.detections != plain {
            let name = |rule: usize| detector.rules()[rule].id.as_str();
            let show = |all: &[super::Detection], others: &[super::Detection]| {
                let alone = all.iter().filter(|detection| !others.contains(detection));
                alone.map(|d| (name(d.rule), d.start, d.end, d.confidence)).collect::<Vec<_>>()
            };
            let (ours, theirs) = (show(&found.detections, &plain), show(&plain, &found.detections));
            let shown = String::from_utf8_lossy(&body);
            writeln!(differences, "text {nth}: scanner {ours:?}, plain {theirs:?}\n{shown}\n").unwrap();
        }
        findings += plain.len();
        ran += 1;
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(ran == 0 || findings > ran / 2, "{findings} findings in {ran} texts");
}
