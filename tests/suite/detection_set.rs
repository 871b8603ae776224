//! The rules in the binary against labelled data and against whole pages.

use std::collections::BTreeMap;
use std::io::Read;

use detection::{Detector, RuleFile};

fn detector() -> Detector {
    let (detector, diagnostics) = portcullis::rules::sensitive(None);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    detector
}

/// The kinds that are found in a body.
fn kinds<'d>(detector: &'d Detector, body: &[u8]) -> Vec<&'d str> {
    let found = detector.scan(body, &|_| true);
    assert!(!found.exhausted);
    found.detections.iter().map(|d| detector.rules()[d.rule].id.as_str()).collect()
}

/// A row of the labelled set: kind, text, whether it must be found, source.
struct Row {
    kind: String,
    text: String,
    is_positive: bool,
    source: String,
}

fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/sdd/dev.tsv.gz");
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let unescape = |text: &str| {
        let mut out = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match (character, character == '\\') {
                (_, true) => match characters.next() {
                    Some('n') => out.push('\n'),
                    Some('r') => out.push('\r'),
                    Some('t') => out.push('\t'),
                    other => out.extend(other),
                },
                _ => out.push(character),
            }
        }
        out
    };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        Row {
            kind: fields[0].to_owned(),
            text: unescape(fields[1]),
            is_positive: fields[2] == "1",
            source: fields[3].to_owned(),
        }
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn the_labelled_set_is_found_and_little_else() {
    let detector = detector();
    // Of each kind: found, positives.
    let mut recall: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let (mut near, mut ambient, mut encoded) = ((0, 0), (0, 0), (0, 0));
    let mut wrong = Vec::new();
    let rows = rows();
    for row in &rows {
        let found = kinds(&detector, row.text.as_bytes());
        let is_found = found.contains(&row.kind.as_str());
        let count = |of: &mut (u32, u32), hit: bool| *of = (of.0 + u32::from(hit), of.1 + 1);
        match (row.kind.as_str(), row.is_positive) {
            ("*", _) => {
                count(&mut ambient, !found.is_empty());
                wrong.extend((!found.is_empty()).then(|| format!("ambient {found:?}: {}", row.text)));
            }
            (_, true) => {
                count(recall.entry(row.kind.clone()).or_default(), is_found);
                if row.source.contains("enc-") {
                    count(&mut encoded, is_found);
                }
            }
            (_, false) => {
                count(&mut near, is_found);
                wrong.extend(is_found.then(|| format!("near {}: {}", row.kind, row.text)));
            }
        }
    }
    let share = |(part, all): (u32, u32)| f64::from(part) / f64::from(all);
    let mut categories: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (kind, counts) in &recall {
        categories.entry(kind.split('.').next().unwrap()).or_default().push(share(*counts));
    }
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    for (category, shares) in &categories {
        println!("{category:12} {:3} kinds, recall {:.3}", shares.len(), mean(shares));
    }
    let all: Vec<f64> = recall.values().map(|counts| share(*counts)).collect();
    println!("encoded {encoded:?}, near {near:?}, ambient {ambient:?}, macro recall {:.4}", mean(&all));
    assert_eq!((rows.len(), recall.len()), (6_234, 275));
    assert!(mean(&all) >= 0.985, "{}", mean(&all));
    assert!(share(near) <= 0.005, "{wrong:#?}");
    assert_eq!((ambient.0, encoded.0), (0, encoded.1), "{wrong:#?}");
}

/// Compares every fifth row, because the plain scanner is slow.
const PLAIN_STEP: usize = 5;

#[test]
fn the_plain_scanner_finds_the_same_in_the_labelled_set() {
    let detector = detector();
    let rows = rows();
    let mut findings = 0;
    for row in rows.iter().step_by(PLAIN_STEP) {
        let found = detector.scan(row.text.as_bytes(), &|_| true).detections;
        let plain = detection::scanner::oracle::scan(&detector, row.text.as_bytes(), &|_| true);
        assert_eq!(found, plain, "{}", row.text);
        findings += plain.len();
    }
    assert!(findings > rows.len() / PLAIN_STEP / 2, "{findings} findings");
}

#[test]
fn of_kinds_with_one_shape_the_nearest_keyword_names_the_one() {
    let detector = detector();
    let of = |text: &str| kinds(&detector, text.as_bytes());
    // Ten digits that are right for both.
    let both = (1_000_000_000_u64..).find(|number| {
        of(&format!("nip {number}")) == ["national_id.pl_nip"]
            && of(&format!("nhs number {number}")) == ["health.uk_nhs"]
    });
    let number = both.unwrap();
    for (text, kind) in [
        (format!("NIP of the patient with the NHS number {number}"), "health.uk_nhs"),
        (format!("NHS number or else the NIP {number}"), "national_id.pl_nip"),
        (format!("<td>nhs number</td><td>unknown</td><td>NIP</td><td>{number}</td>"), "national_id.pl_nip"),
        (format!("name,nip,nhs number\nAnn,5,{number}\n"), "health.uk_nhs"),
        (format!("name,nip,nhs number\nAnn,{number},\n"), "national_id.pl_nip"),
        (
            format!("<table><tr><th>NHS number<th>NIP</tr>\n<tr><td>-</td><td>{number}</td></tr></table>"),
            "national_id.pl_nip",
        ),
    ] {
        assert_eq!(of(&text), [kind], "{text}");
    }
    // Nor is the other told where no more is told of the nearest.
    let line = format!("NIP of the patient with the NHS number {number}\n");
    assert_eq!(of(&line.repeat(1_100)), vec!["health.uk_nhs"; 1_000]);
}

#[test]
fn a_thousand_findings_of_a_rule_are_told_and_no_other_is_lost_for_them() {
    let detector = detector();
    let most = 1_000;
    let mut body = String::new();
    for nth in 0..2 * most {
        body += &format!("{{\"email\":\"svc-{nth}@example.org\",\"ssn\":\"281-87-{:04}\"}},\n", nth + 1);
    }
    body += "card 4111 1111 1111 1111\n";
    let found = detector.scan(body.as_bytes(), &|_| true).detections;
    let of = |kind: &str| -> Vec<&str> {
        let rules = detector.rules();
        let found = found.iter().filter(|detection| rules[detection.rule].id == kind);
        found.map(|detection| &body[detection.start..detection.end]).collect()
    };
    let (emails, ssns) = (of("pii.email"), of("national_id.us_ssn"));
    for nth in 0..most {
        assert_eq!(emails.get(nth).copied(), Some(format!("svc-{nth}@example.org").as_str()));
        assert_eq!(ssns.get(nth).copied(), Some(format!("281-87-{:04}", nth + 1).as_str()));
    }
    assert_eq!((emails.len(), ssns.len()), (most, most));
    assert_eq!(of("financial.credit_card"), ["4111 1111 1111 1111"]);
    assert_eq!(found.len(), 2 * most + 1);
}

/// Every example that must be found, by kind.
fn examples() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/sensitive-data");
    let mut examples = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let rules: Vec<RuleFile> = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for rule in rules {
            examples.extend(rule.examples.iter().map(|text| (rule.id.clone(), text.replace("{+}", ""))));
        }
    }
    examples.sort();
    examples
}

/// Pages of some size with a value between two of their parts.
fn page(nth: usize, value: &str) -> (String, usize) {
    let part: &dyn Fn(usize) -> String = match nth % 3 {
        0 => &|n| {
            format!("<li class=\"item item-{n}\"><a href=\"/p/{n}\">Garden table {n}</a> in stock</li>\n")
        },
        1 => &|n| {
            format!(
                "{{\"id\":{n},\"title\":\"Garden table\",\"price\":{}.5,\"tags\":[\"a\",\"b\"]}},\n",
                n % 90
            )
        },
        _ => &|n| format!("function f{n}(e,t){{return e.x>{n}?t.y:this.z(e,{n})}}\n"),
    };
    let parts = 300 + nth * 37 % 400;
    let at = nth * 101 % parts;
    let mut text = String::new();
    let mut place = 0;
    for n in 0..parts {
        if n == at {
            place = text.len();
            text += value;
            text.push('\n');
        }
        text += &part(n);
    }
    (text, place)
}

#[test]
fn a_value_is_found_in_a_whole_page_at_its_place() {
    let detector = detector();
    let examples = examples();
    let mut missed = Vec::new();
    for (nth, (kind, example)) in examples.iter().enumerate() {
        let (body, place) = page(nth, example);
        let found = detector.scan(body.as_bytes(), &|_| true);
        assert!(!found.exhausted);
        let range = place.saturating_sub(1)..=place + example.len();
        let at_place = found.detections.iter().any(|d| {
            detector.rules()[d.rule].id == *kind && range.contains(&d.start) && range.contains(&d.end)
        });
        if !at_place {
            missed.push(format!("{kind}: {example}"));
        }
    }
    assert!(examples.len() >= 300, "{}", examples.len());
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn findings_do_not_depend_on_the_place_in_the_body() {
    let detector = detector();
    // Every example in one page, apart from each other.
    let mut page = String::new();
    for (_, example) in examples() {
        page += &example;
        page += "\n\n<p>and nothing of the kind here</p>\n\n";
    }
    let found = |shift: usize| {
        let body = [" ".repeat(shift).as_bytes(), page.as_bytes()].concat();
        let found = detector.scan(&body, &|_| true);
        assert!(!found.exhausted);
        found.detections.iter().map(|d| (d.start - shift, d.end - shift, d.rule)).collect::<Vec<_>>()
    };
    let first = found(0);
    assert!(first.len() >= 300, "{}", first.len());
    let shifts = (1..67).chain([128 * 64 - 1, 128 * 64, 128 * 64 + 31]);
    let mut ran = 0;
    for shift in shifts {
        assert_eq!(found(shift), first, "{shift}");
        ran += 1;
    }
    assert_eq!(ran, 69);
}

#[test]
fn encoded_values_are_found_where_they_are_written() {
    let detector = detector();
    let card = ["4111", "1111", "1111", "1111"];
    for (separator, written) in [
        ("&nbsp;", "html"),
        ("&#8209;", "html"),
        ("&#x2d;", "html"),
        ("\\u002d", "json"),
        ("\\u0020", "json"),
        ("%20", "query"),
        ("%2D", "query"),
        ("<b></b>&nbsp;", "html"),
        ("<wbr>", "html"),
    ] {
        let value = card.join(separator);
        for shift in 0..70 {
            let body = format!("{}card={value}&x=1 and more text behind it", " ".repeat(shift));
            let found = detector.scan(body.as_bytes(), &|_| true).detections;
            let whole = found.iter().any(|d| {
                detector.rules()[d.rule].id == "financial.credit_card"
                    && body.get(d.start..d.end) == Some(value.as_str())
            });
            assert!(whole, "{written} {body} {found:?}");
        }
    }
}

#[test]
fn a_hostile_body_ends_in_time_and_says_so() {
    let detector = detector();
    let mut exhausted = 0;
    for text in [
        "<<<<",
        "4111 1111 1111 1112 ",
        "a@b.",
        "http://a:bcd@",
        " on line at Exception: \n",
        "eyJhbGciOiJIUzI1NiJ9.",
    ] {
        let body = text.repeat(300_000 / text.len());
        exhausted += u32::from(detector.scan(body.as_bytes(), &|_| true).exhausted);
    }
    // What ran past its budget is told; a body of numbers or addresses alone has none to run past.
    assert!(exhausted >= 1);
}
