//! Frames: what stands around an attack must not hide it. Each labelled attack value is put into texts, lines,
//! markup and padding, and judged again. The table is printed; each figure may only rise.

use std::collections::BTreeSet;

use percent_encoding::NON_ALPHANUMERIC;
use portcullis::rules::{self, Rules};
use portcullis::ruleset::EntryPoint;
use portcullis::ruleset::ScoredRuleset;

use crate::support::{self, labelled_attacks};

/// Values that are framed, evenly from all families.
pub const VALUES: usize = 400;

/// A frame: its name, what it makes of a value, and of how many in a thousand values that are found plain at level 1
/// and 2 it must leave to be found.
type Frame = (&'static str, fn(&str) -> String, [usize; 2]);

const BEFORE: &str =
    "Hello team, I had a look at the form that we talked about on Monday.\nThis is what I would send:\n";
const AFTER: &str = "\nPlease tell me if that works for you.";

const FRAMES: &[Frame] = &[
    ("prose around", |value| format!("{BEFORE}{value}{AFTER}"), [980, 987]),
    ("prose before", |value| format!("{BEFORE}{value}"), [980, 987]),
    ("prose behind", |value| format!("{value}{AFTER}"), [995, 995]),
    ("one greeting", |value| format!("Hello, how are you? {value}"), [987, 990]),
    (
        "words in a line",
        |value| format!("the size of the shoes that we have in stock is {value}"),
        [919, 961],
    ),
    ("words around", |value| format!("we talked about {value} and the price of them"), [888, 939]),
    ("double quotes", |value| format!("he wrote \"{value}\" to me"), [897, 951]),
    ("single quotes", |value| format!("he wrote '{value}' to me"), [863, 930]),
    ("parentheses", |value| format!("the boots (it was {value}) are nice"), [909, 956]),
    ("CSV", |value| format!("17,Ann,{value},2026-01-01"), [922, 944]),
    ("YAML", |value| format!("name: Ann\nnote: {value}\nsize: 4"), [980, 985]),
    ("Markdown table", |value| format!("| a | b |\n|---|---|\n| 1 | {value} |\n"), [917, 959]),
    ("quoted reply", |value| format!("> {value}\n\nthat is what I got"), [951, 978]),
    ("HTML attribute", |value| format!("<a title=\"{value}\">x</a>"), [892, 944]),
    (
        "German prose",
        |value| {
            format!(
                "Hallo zusammen, das ist der Text, den ich euch zeigen will:\n{value}\nBitte sagt mir, ob das so geht."
            )
        },
        [980, 987],
    ),
    (
        "Japanese prose",
        |value| format!("この商品について教えてください。\n{value}\nよろしくお願いします。"),
        [980, 987],
    ),
    (
        "lines (LF)",
        |value| format!("first line here\nsecond line here\nthird line here\n{value}\nlast line here"),
        [980, 987],
    ),
    (
        "lines (CRLF)",
        |value| {
            format!("first line here\r\nsecond line here\r\nthird line here\r\n{value}\r\nlast line here")
        },
        [980, 987],
    ),
    (
        "Markdown",
        |value| format!("# Report\n\n- size: 42\n- colour: red\n- note: {value}\n\nThat is **all**."),
        [978, 985],
    ),
    (
        "e-mail",
        |value| {
            format!("Dear Ada,\n\nthank you for your order of Monday.\n\n{value}\n\nKind regards,\nThe shop")
        },
        [980, 987],
    ),
    (
        "chat",
        |value| {
            format!(
                "user: hi there\nassistant: how can I help you?\nuser: {value}\nassistant: one moment please"
            )
        },
        [975, 983],
    ),
    (
        "HTML paragraph",
        |value| format!("<p>Thank you for the parcel, it has arrived.</p><p>{value}</p>"),
        [975, 983],
    ),
    (
        "log line",
        |value| format!("2026-11-23T10:00:00Z INFO shop order=17 note={value} status=200"),
        [912, 959],
    ),
    (
        "code fence",
        |value| format!("What does this do on our server?\n\n```\n{value}\n```\n\nThanks for the help."),
        [980, 987],
    ),
    (
        "JSON text",
        |value| serde_json::json!({"name": "Ann", "text": value, "sizes": [894, 927]}).to_string(),
        [1000, 1000],
    ),
    ("1 KB before", |value| format!("{}{value}", "winter boots ".repeat(80)), [919, 961]),
    ("1 KB behind", |value| format!("{value}{}", " winter boots".repeat(80)), [978, 985]),
    ("9 KB before", |value| format!("{}{value}", "winter boots ".repeat(720)), [922, 963]),
];

const LEVELS: [u8; 2] = [1, 2];

/// Values of arguments of the labelled attacks whose title begins so, each once.
pub fn values(family: &str) -> Vec<String> {
    let (mut seen, mut ordered) = (BTreeSet::new(), Vec::new());
    for attack in labelled_attacks().into_iter().filter(|attack| attack.title.starts_with(family)) {
        let query = attack.target.split_once('?').map_or("", |(_, query)| query);
        let is_form = attack.headers.iter().any(|(_, value)| value == "application/x-www-form-urlencoded");
        let form = if is_form { std::str::from_utf8(&attack.body).unwrap() } else { "" };
        let pairs = query.split('&').chain(form.split('&'));
        for value in pairs.filter_map(|pair| Some(pair.split_once('=')?.1.replace('+', " "))) {
            let value = percent_encoding::percent_decode_str(&value).decode_utf8_lossy().into_owned();
            if seen.insert(value.clone()) {
                ordered.push(value);
            }
        }
    }
    ordered
}

fn is_refused(entry_point: &EntryPoint, value: &str) -> bool {
    let body = format!("text={}", percent_encoding::utf8_percent_encode(value, NON_ALPHANUMERIC));
    let fields = [("Content-Type", &b"application/x-www-form-urlencoded"[..])];
    support::is_refused(&support::judge(entry_point, None, "/comments", &fields, body))
}

pub fn entry_point(rules: &Rules, level: u8) -> EntryPoint {
    EntryPoint::scoring(ScoredRuleset::short_form(&rules.program, &rules.owasp, level, 5))
}

#[test]
fn no_frame_hides_more_than_it_did() {
    let rules = rules::load(None, None).unwrap().0;
    let all = values("");
    let step = all.len() / VALUES;
    let found: Vec<(u8, EntryPoint, Vec<&String>)> = LEVELS
        .map(|level| {
            let entry_point = entry_point(&rules, level);
            let found = all.iter().step_by(step).filter(|value| is_refused(&entry_point, value)).collect();
            (level, entry_point, found)
        })
        .into();
    for (level, _, values) in &found {
        assert!(values.len() > VALUES / 2, "{} of the plain values are found at level {level}", values.len());
    }
    let mut fallen = Vec::new();
    for (name, frame, least) in FRAMES {
        let mut row = format!("{name:16}");
        for ((level, entry_point, values), least) in found.iter().zip(least) {
            let still = values.iter().filter(|value| is_refused(entry_point, &frame(value))).count();
            let thousandths = still * 1000 / values.len();
            row.push_str(&format!("  level {level}: {still} of {} ({thousandths} in 1,000)", values.len()));
            if thousandths < *least {
                fallen.push(format!("{name} at level {level}: {thousandths} in place of {least}"));
            }
        }
        println!("{row}");
    }
    assert!(fallen.is_empty(), "{}", fallen.join("\n"));
}

/// What an attacker writes for a space: its name, the family, and what it makes of a value.
type Space = (&'static str, &'static str, fn(&str) -> String);

/// A comment of eight words, and one that is longer than what is read at once.
const WORDS: &str = "these are the eight words of my text ";

const SPACES: &[Space] = &[
    ("an empty comment", "sqli-", |value| value.replace(' ', "/**/")),
    ("a comment of words", "sqli-", |value| value.replace(' ', &format!("/*{WORDS}*/"))),
    ("a long comment", "sqli-", |value| value.replace(' ', &format!("/*{}*/", WORDS.repeat(20)))),
    ("600 spaces", "sqli-", |value| value.replace(' ', &" ".repeat(600))),
    ("31 spaces", "sqli-", |value| value.replace(' ', &" ".repeat(31))),
    ("tabs", "sqli-", |value| value.replace(' ', "\t\t")),
    ("line breaks", "sqli-", |value| value.replace(' ', "\n")),
    ("form feeds", "sqli-", |value| value.replace(' ', "\x0c")),
    ("600 spaces", "rce-unix-", |value| value.replace(' ', &" ".repeat(600))),
    ("31 spaces", "rce-unix-", |value| value.replace(' ', &" ".repeat(31))),
    ("tabs", "rce-unix-", |value| value.replace(' ', "\t\t")),
    ("an expansion", "rce-unix-", |value| value.replace(' ', "${IFS}")),
    ("600 spaces", "xss-", |value| value.replace(' ', &" ".repeat(600))),
    ("31 spaces", "xss-", |value| value.replace(' ', &" ".repeat(31))),
    ("tabs", "xss-", |value| value.replace(' ', "\t\t")),
    ("line breaks", "xss-", |value| value.replace(' ', "\n")),
    ("slashes", "xss-", |value| value.replace(' ', "/")),
    ("line breaks behind lines", "sqli-", |value| lines_before(&value.replace(' ', "\n"))),
    ("line breaks behind lines", "xss-", |value| lines_before(&value.replace(' ', "\n"))),
];

/// What stands behind a comment that ends with its line would make no statement.
fn lines_before(value: &str) -> String {
    format!("first line here\nsecond line here\nthird line here\n{value}")
}

#[test]
fn no_space_inside_an_attack_hides_it() {
    let rules = rules::load(None, None).unwrap().0;
    let mut hidden = Vec::new();
    for (name, family, change) in SPACES {
        let entry_point = entry_point(&rules, 1);
        let plain: Vec<String> =
            values(family).into_iter().filter(|value| value.contains(' ') && !value.contains('%')).collect();
        let found: Vec<&String> = plain.iter().filter(|value| is_refused(&entry_point, value)).collect();
        assert!(found.len() > 100, "{name}: {}", found.len());
        let still = found.iter().filter(|value| is_refused(&entry_point, &change(value))).count();
        println!("{family:10} {name:20} {still} of {}", found.len());
        if still * 1000 < found.len() * 980 {
            hidden.push(format!("{name} in {family}: {still} of {}", found.len()));
        }
    }
    assert!(hidden.is_empty(), "{}", hidden.join("\n"));
}
