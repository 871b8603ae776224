//! Places and encodings: wherever an attack stands in a request, and however common servers let it be written, it is
//! found as it is found in a form. The table is printed; each figure may only rise.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode, utf8_percent_encode};
use portcullis::rules;
use portcullis::ruleset::EntryPoint;

use crate::frames::{VALUES, entry_point, values};
use crate::support;

/// What of a request a value makes.
#[derive(Default)]
struct Made {
    target: Option<String>,
    /// Beside those of every request.
    fields: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
}

/// A place: its name, the request that a value makes there, if it can stand there, and of how many in a thousand values
/// that are found in a form at level 1 it must leave to be found.
type Place = (&'static str, fn(&str) -> Option<Made>, usize);

/// Of bodies longer than this, fewer are tried.
const LONG_BYTES: usize = 8 << 10;

fn coded(value: &str) -> String {
    utf8_percent_encode(value, NON_ALPHANUMERIC).to_string()
}

fn body(content_type: &str, body: impl Into<Vec<u8>>) -> Option<Made> {
    Some(Made { fields: vec![("Content-Type", content_type.into())], body: body.into(), ..Made::default() })
}

fn form(text: &[u8]) -> Option<Made> {
    body("application/x-www-form-urlencoded", format!("id=7&text={}", percent_encode(text, NON_ALPHANUMERIC)))
}

fn target(target: String) -> Option<Made> {
    Some(Made { target: Some(target), ..Made::default() })
}

fn field(name: &'static str, value: &str) -> Option<Made> {
    let is_sound = value.bytes().all(|byte| byte >= b' ' && byte != 127);
    is_sound.then(|| Made { fields: vec![(name, value.into())], ..Made::default() })
}

fn json(value: &serde_json::Value) -> Option<Made> {
    body("application/json", value.to_string())
}

fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn xml(text: &str) -> Option<Made> {
    body("application/xml", text)
}

fn is_xml_text(value: &str) -> bool {
    value.bytes().all(|byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'))
}

fn multipart(disposition: &str, content: &str) -> Option<Made> {
    body(
        "multipart/form-data; boundary=B",
        format!("--B\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n--B--\r\n"),
    )
}

fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn overlong(value: &str) -> Vec<u8> {
    let letter = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | 128.. => vec![byte],
        sign => vec![0xc0 | (sign >> 6), 0x80 | (sign & 0x3f)],
    };
    value.bytes().flat_map(letter).collect()
}

const PLACES: &[Place] = &[
    ("query", |v| target(format!("/search?id=7&q={}", coded(v))), 1000),
    ("name in a query", |v| target(format!("/search?{}=1", coded(v))), 997),
    ("path segment", |v| (!v.contains("..")).then(|| target(format!("/item/{}/x", coded(v))))?, 994),
    ("JSON member", |v| json(&serde_json::json!({"id": 7, "text": v})), 1000),
    ("JSON array", |v| json(&serde_json::json!({"list": ["a", v, "b"]})), 1000),
    ("name in JSON", |v| json(&serde_json::json!({"id": 7, v: 1})), 987),
    ("JSON in JSON", |v| json(&serde_json::json!({"data": serde_json::json!({"q": v}).to_string()})), 1000),
    (
        "JSON without a type",
        |v| Some(Made { body: serde_json::json!({"q": v}).to_string().into(), ..Made::default() }),
        1000,
    ),
    (
        "GraphQL variable",
        |v| json(&serde_json::json!({"query": "query($n:String){user(name:$n){id}}", "variables": {"n": v}})),
        1000,
    ),
    ("XML text", |v| is_xml_text(v).then(|| xml(&format!("<r><id>7</id><q>{}</q></r>", escaped(v))))?, 997),
    (
        "XML attribute",
        |v| is_xml_text(v).then(|| xml(&format!("<r><q id=\"7\" v=\"{}\"/></r>", escaped(v))))?,
        987,
    ),
    (
        "CDATA",
        |v| {
            (is_xml_text(v) && !v.contains("]]>"))
                .then(|| xml(&format!("<r><id>7</id><q><![CDATA[{v}]]></q></r>")))?
        },
        997,
    ),
    ("cookie", |v| field("Cookie", &format!("a=b; text={}", coded(v))), 997),
    ("multipart field", |v| (!v.contains("--B")).then(|| multipart("name=\"text\"", v))?, 1000),
    (
        "multipart name",
        |v| (!v.contains(['"', '\n', '\r'])).then(|| multipart(&format!("name=\"{v}\""), "1"))?,
        997,
    ),
    ("plain text", |v| body("text/plain", v), 995),
    ("no type", |v| Some(Made { body: v.into(), ..Made::default() }), 995),
    ("repeated name", |v| body("application/x-www-form-urlencoded", format!("q=a&q={}&q=b", coded(v))), 1000),
    (
        "many fields before",
        |v| {
            body(
                "application/x-www-form-urlencoded",
                format!("{}q={}", "a=winter+boots&".repeat(700), coded(v)),
            )
        },
        1000,
    ),
    ("Base64", |v| form(BASE64_STANDARD.encode(v).as_bytes()), 960),
    ("Base64 for URLs", |v| form(BASE64_URL_SAFE_NO_PAD.encode(v).as_bytes()), 960),
    ("encoded twice", |v| form(coded(v).as_bytes()), 997),
    ("UTF-16 JSON", |v| body("application/json", utf16(&serde_json::json!({"q": v}).to_string())), 1000),
    ("overlong UTF-8", |v| form(&overlong(v)), 977),
    ("1 KB of letters before", |v| form(format!("{}{v}", "a".repeat(1000)).as_bytes()), 858),
    ("1 KB of letters and a line before", |v| form(format!("{}\n{v}", "a".repeat(1000)).as_bytes()), 990),
    (
        "26 KB of lines before",
        |v| form(format!("{}{v}", "winter boots in stock\n".repeat(1200)).as_bytes()),
        975,
    ),
    (
        "26 KB of lines behind",
        |v| form(format!("{v}{}", "\nwinter boots in stock".repeat(1200)).as_bytes()),
        975,
    ),
    ("9 KB of spaces before", |v| form(format!("{}{v}", " ".repeat(9000)).as_bytes()), 1000),
    ("9 KB of spaces behind", |v| form(format!("{v}{}", " ".repeat(9000)).as_bytes()), 987),
];

fn is_refused(entry_point: &EntryPoint, made: &Made) -> bool {
    let target = made.target.as_deref().unwrap_or("/comments");
    let fields: Vec<_> = made.fields.iter().map(|(name, value)| (*name, value.as_slice())).collect();
    support::is_refused(&support::judge(entry_point, None, target, &fields, made.body.clone()))
}

#[test]
fn no_place_hides_more_than_it_did() {
    let rules = rules::load(None, None).unwrap().0;
    let entry_point = entry_point(&rules, 1);
    let all = values("");
    let step = all.len() / VALUES;
    let plain = |value: &&String| form(value.as_bytes()).is_some_and(|made| is_refused(&entry_point, &made));
    let found: Vec<&String> = all.iter().step_by(step).filter(plain).collect();
    assert!(found.len() > VALUES * 9 / 10, "{}", found.len());
    let mut fallen = Vec::new();
    for (name, make, least) in PLACES {
        let made: Vec<(&String, Made)> =
            found.iter().filter_map(|value| Some((*value, make(value)?))).collect();
        // Of long bodies a fifth is enough.
        let step = if made[0].1.body.len() > LONG_BYTES { 5 } else { 1 };
        let made: Vec<(&String, Made)> = made.into_iter().step_by(step).collect();
        let missed: Vec<&&String> =
            made.iter().filter(|(_, made)| !is_refused(&entry_point, made)).map(|(value, _)| value).collect();
        let thousandths = (made.len() - missed.len()) * 1000 / made.len();
        println!("{name:34} {} of {} ({thousandths} in 1,000)", made.len() - missed.len(), made.len());
        if std::env::var_os("MISSED").is_some() {
            missed.iter().take(12).for_each(|value| println!("      {value:?}"));
        }
        if thousandths < *least {
            fallen.push(format!("{name}: {thousandths} in place of {least}"));
        }
    }
    assert!(fallen.is_empty(), "{}", fallen.join("\n"));
}

/// Four words of eight letters each, in the order of Unicode; of the ideographs and syllables of Han and Hangul, every
/// seventh.
fn words_of_all_alphabets() -> Vec<String> {
    let is_picked = |letter: &char| match u32::from(*letter) {
        code @ (0x3400..0xa000 | 0xac00..0xd7a4 | 0x2_0000..) => code % 7 == 0,
        _ => true,
    };
    let letters: Vec<char> =
        ('\u{a0}'..=char::MAX).filter(|letter| letter.is_alphanumeric()).filter(is_picked).collect();
    let words: Vec<String> = letters.chunks(8).map(|word| word.iter().collect()).collect();
    words.chunks(4).map(|words| words.join(" ")).collect()
}

#[test]
fn no_letter_of_any_alphabet_is_an_attack() {
    let rules = rules::load(None, None).unwrap().0;
    let entry_points = [1, 2].map(|level| entry_point(&rules, level));
    let texts = words_of_all_alphabets();
    assert!(texts.len() > 900, "{}", texts.len());
    let mut refused = Vec::new();
    let mut tried = 0;
    for (name, make, _) in PLACES {
        if make("word").is_some_and(|made| made.body.len() > LONG_BYTES) {
            continue;
        }
        for (text, made) in texts.iter().filter_map(|text| Some((text, make(text)?))) {
            for (entry_point, level) in entry_points.iter().zip(1..) {
                tried += 1;
                if is_refused(entry_point, &made) {
                    refused.push(format!("{name}, level {level}: {text}"));
                }
            }
        }
    }
    assert!(tried > 40_000, "{tried}");
    assert!(refused.is_empty(), "{} of {tried}:\n{}", refused.len(), refused.join("\n"));
}
