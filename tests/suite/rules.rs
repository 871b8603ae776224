//! The examples beside each rule of `rules/owasp`, run against it at paranoia level 4.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use portcullis::regression::RawRequest;
use seclang::BodyLimits;
use seclang::{Phase, Plan, PlanSettings, RequestHead, Transaction};

/// What an example does to an innocent request.
#[derive(Clone, Debug)]
enum Place {
    Argument,
    Name,
    Path,
    Header(String),
    /// The name of a file that is sent.
    File,
    FileContent,
    /// A header of the part that a file is sent in.
    PartHeader,
    /// Head and body, as they go over the wire.
    Request,
}

#[derive(Clone, Debug)]
struct Example {
    rule: u64,
    matches: bool,
    place: Place,
    value: Vec<u8>,
}

/// The examples of a rules file: comment lines that stand before a rule.
fn examples(text: &str) -> Vec<Example> {
    let (mut found, mut waiting) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let matches = comment.starts_with("matches");
            if let Some((head, value)) = comment
                .split_once(": ")
                .filter(|(head, _)| head.starts_with("matches") || head.starts_with("passes"))
            {
                let place = match head.split(' ').collect::<Vec<_>>().as_slice() {
                    [_] => Place::Argument,
                    [_, "name"] => Place::Name,
                    [_, "path"] => Place::Path,
                    [_, "file"] => Place::File,
                    [_, "file-content"] => Place::FileContent,
                    [_, "part-header"] => Place::PartHeader,
                    [_, "request"] => Place::Request,
                    [_, "header", name] => Place::Header((*name).to_owned()),
                    other => panic!("unknown example `{other:?}`"),
                };
                waiting.push((matches, place, unescape(value)));
            }
        } else if let Some(id) = line.trim().strip_prefix("\"id:").and_then(|rest| rest.split(',').next()) {
            let rule = id.parse().unwrap();
            found.extend(waiting.drain(..).map(|(matches, place, value)| Example {
                rule,
                matches,
                place,
                value,
            }));
        }
    }
    found
}

/// `\r`, `\n`, `\t`, `\\` and `\xhh`.
fn unescape(text: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = match (byte, after) {
            (b'\\', [b'r', tail @ ..]) => {
                out.push(b'\r');
                tail
            }
            (b'\\', [b'n', tail @ ..]) => {
                out.push(b'\n');
                tail
            }
            (b'\\', [b't', tail @ ..]) => {
                out.push(b'\t');
                tail
            }
            (b'\\', [b'\\', tail @ ..]) => {
                out.push(b'\\');
                tail
            }
            (b'\\', [b'x', a, b, tail @ ..]) => {
                out.push(u8::from_str_radix(std::str::from_utf8(&[*a, *b]).unwrap(), 16).unwrap());
                tail
            }
            _ => {
                out.push(byte);
                after
            }
        };
    }
    out
}

fn encode(value: &[u8]) -> String {
    value.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// The request of an example, as it goes over the wire.
fn request(example: &Example) -> Vec<u8> {
    let get = |target: &[u8], header: &[u8]| {
        [b"GET ", target, b" HTTP/1.1\r\nHost: a.example\r\n", header, b"\r\n\r\n"].concat()
    };
    let agent = b"User-Agent: Mozilla/5.0";
    let file = |header: &[u8], name: &[u8], content: &[u8]| {
        let body = [
            b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"",
            name,
            b"\"\r\n",
            header,
            b"\r\n\r\n",
            content,
            b"\r\n--b--\r\n",
        ]
        .concat();
        let head = format!(
            "POST / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.into_bytes(), body].concat()
    };
    let value = &example.value;
    match &example.place {
        Place::Argument => get(format!("/?q={}", encode(value)).as_bytes(), agent),
        Place::Name => get(format!("/?{}=1", encode(value)).as_bytes(), agent),
        Place::Path => get(value, agent),
        Place::Header(name) if name == "host" => {
            [b"GET / HTTP/1.1\r\nHost: ", value.as_slice(), b"\r\n\r\n"].concat()
        }
        Place::Header(name) => get(b"/", &[name.as_bytes(), b": ", value.as_slice()].concat()),
        Place::File => file(b"Content-Type: text/plain", value, b"x"),
        Place::FileContent => file(b"Content-Type: text/plain", b"x.txt", value),
        Place::PartHeader => file(value, b"x.txt", b"x"),
        Place::Request => value.clone(),
    }
}

/// The rules that match the request of an example.
fn matched(plan: &Arc<Plan>, example: &Example) -> Vec<u64> {
    let request = request(example);
    let raw = RawRequest::split(&request).unwrap();
    let (method, target, protocol) = raw.parts().unwrap();
    let head = RequestHead {
        method,
        target,
        protocol,
        headers: &raw.headers,
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        server: None,
        request_id: "test",
        received: std::time::Duration::ZERO,
    };
    let mut transaction = Transaction::new(Arc::clone(plan), BodyLimits::default());
    transaction.request_head(&head);
    transaction.run(Phase::RequestHeaders);
    transaction.request_body(Bytes::copy_from_slice(raw.body), false);
    transaction.run(Phase::RequestBody);
    transaction.matches().iter().map(|m| m.rule).collect()
}

#[test]
fn every_rule_matches_and_passes_what_it_says() {
    let (ir, diagnostics) = portcullis::rules::seclang(None);
    assert!(diagnostics.is_empty(), "{diagnostics}");
    let plan = Arc::new(Plan::new(Arc::new(seclang::optimize(&ir)), &PlanSettings::default()));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/owasp");
    let mut by_rule: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        for example in examples(&std::fs::read_to_string(entry.unwrap().path()).unwrap()) {
            let count = by_rule.entry(example.rule).or_default();
            if example.matches {
                count.0 += 1
            } else {
                count.1 += 1
            }
            let rules = matched(&plan, &example);
            if rules.contains(&example.rule) != example.matches {
                wrong.push(format!(
                    "{} must{} match {:?} {:?}; matched {rules:?}",
                    example.rule,
                    if example.matches { "" } else { " not" },
                    example.place,
                    String::from_utf8_lossy(&example.value)
                ));
            }
            // What a rule of level 1 must let pass, all of them must.
            let level_1 = |id: &u64| {
                ir.roots().any(|root| {
                    root.id == *id && root.actions.tags.iter().any(|tag| tag == "paranoia-level-1")
                })
            };
            if !example.matches && level_1(&example.rule) && rules.iter().any(level_1) {
                wrong.push(format!(
                    "{:?} {:?} is innocent, but level 1 matched {rules:?}",
                    example.place,
                    String::from_utf8_lossy(&example.value)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Rules about the body's form have their tests elsewhere.
    let without = [20001, 20002];
    let missing: Vec<u64> = ir
        .roots()
        .filter(|root| root.actions.tags.iter().any(|tag| tag.starts_with("paranoia-level")))
        .map(|root| root.id)
        .filter(|id| {
            !without.contains(id)
                && by_rule.get(id).is_none_or(|(matches, passes)| *matches == 0 || *passes == 0)
        })
        .collect();
    assert!(missing.is_empty(), "rules without examples of both kinds: {missing:?}");
    assert!(by_rule.len() >= 200, "{} rules have examples", by_rule.len());
}

/// The rows of the table that `waf test` prints for labelled requests at a level, as family, attacks,
/// detected, benign requests and false alarms.
fn table(kind: &str, level: &str) -> Vec<(String, [u32; 4])> {
    let folder = |name: &str| format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    let tests = folder(&format!("tests/data/owasp/{kind}"));
    let rules = folder("rules/owasp");
    let arguments =
        ["waf", "test", "--rules", &rules, "--tests", &tests, "--paranoia-level", level, "--table"];
    let output = crate::support::run_cli(&arguments, b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let rows = text.lines().skip(1).filter(|row| !row.starts_with("all"));
    rows.map(|row| {
        let mut cells = row.split_whitespace();
        let family = cells.next().unwrap().to_owned();
        let numbers: Vec<u32> = cells.filter_map(|cell| cell.parse().ok()).collect();
        // Shares have a point and are no whole numbers; `missed` is left out.
        (family, [numbers[0], numbers[1], numbers[3], numbers[4]])
    })
    .collect()
}

/// Cases and refusals of the families with this prefix, in thousandths too.
fn share(rows: &[(String, [u32; 4])], prefix: &str, at: usize) -> (u32, f64) {
    let rows = rows.iter().filter(|(family, _)| family.starts_with(prefix));
    let (cases, refused) =
        rows.fold((0, 0), |(cases, refused), (_, row)| (cases + row[at], refused + row[at + 1]));
    (cases, f64::from(refused) * 1000.0 / f64::from(cases))
}

#[test]
fn labelled_attacks_are_detected() {
    for (level, at_least) in [("1", 965.0), ("2", 980.0), ("4", 995.0)] {
        let (cases, detected) = share(&table("attacks", level), "", 0);
        assert!(cases >= 2000 && detected >= at_least, "{detected} of 1000 in {cases} at level {level}");
    }
}

#[test]
fn labelled_benign_requests_pass() {
    for (level, plain_at_most, texts_at_most) in [("1", 1.0, 10.0), ("2", 10.0, 50.0)] {
        let rows = table("benign", level);
        let ((plain, wrong), (texts, wrong_texts)) = (share(&rows, "plain", 2), share(&rows, "text", 2));
        assert!(plain + texts >= 5000, "{plain} and {texts}");
        // A well-known path, a member that is called a session, a document type: none of them is an attack.
        let (endpoints, wrong_endpoints) = share(&rows, "endpoint", 2);
        assert!(endpoints >= 1000 && wrong_endpoints <= 1.0, "{wrong_endpoints} of 1000 in {endpoints}");
        assert!(wrong <= plain_at_most, "{wrong} of 1000 plain requests at level {level}");
        assert!(wrong_texts <= texts_at_most, "{wrong_texts} of 1000 texts at level {level}");
    }
}

#[test]
fn the_engine_alone_judges_what_a_server_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let rules = write(
        "a.conf",
        "SecRuleEngine On\nSecRule REQUEST_HEADERS:Host \"@rx %00\" \"id:1,phase:1,deny,status:403\"\n\
         SecRule REQUEST_BODY_LENGTH \"@eq 3\" \"id:2,phase:2,deny,status:406\"\n",
    );
    // Both are refused by a server before rules see them: a name that is no host, a body shorter than its length.
    let input = |more: &str| {
        format!(
            "{{\"method\": \"POST\", \"uri\": \"/\", \"version\": \"HTTP/1.1\", \"autocomplete_headers\": false, {more}}}"
        )
    };
    let test = |id: u8, more: &str, status: u16| {
        format!(
            "  - {{\"test_id\": {id}, \"stages\": [{{\"input\": {}, \"output\": {{\"status\": {status}}}}}]}}\n",
            input(more)
        )
    };
    let tests = folder.path().join("tests");
    std::fs::create_dir(&tests).unwrap();
    let cases = [
        test(1, "\"headers\": {\"Host\": \"a%00\"}", 403),
        test(2, "\"headers\": {\"Host\": \"a.example\", \"Content-Length\": \"9\"}, \"data\": \"a=b\"", 406),
    ];
    std::fs::write(tests.join("a.yaml"), format!("rule_id: 1\ntests:\n{}", cases.concat())).unwrap();
    let run = |more: &[&str]| {
        let arguments = ["waf", "test", "--rules", &rules, "--tests", tests.to_str().unwrap()];
        let output = crate::support::run_cli(&[&arguments, more].concat(), b"");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run(&[]).ends_with("0 passed, 2 failed, 0 skipped\n"), "{}", run(&[]));
    assert!(run(&["--engine"]).ends_with("2 passed, 0 failed, 0 skipped\n"), "{}", run(&["--engine"]));
}
