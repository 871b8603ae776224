//! Ways around the edge that were found once: each is closed, and stays so.

use std::process::{Command, Stdio};

use crate::listener::tls_listener;
use crate::protocols::{Killed, free_port};
use crate::support::{Client, Edge, Origin, certificate, curl, gzip, wait_for};

const ATTACK: &str = "q=1'%20UNION%20SELECT%20password%20FROM%20users--";

fn zone(origin: &Origin) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n", origin.url())
}

fn post(fields: &str, body: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n{fields}\r\n{body}",
        body.len()
    )
}

fn chunked(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

/// The event of the last request has the status that was on the wire.
fn finished_with(edge: &mut Edge, status: u16) {
    edge.wait_for_event("request", |event| event["EdgeResponseStatus"] == status);
}

#[test]
fn an_upgrade_field_hides_no_body() {
    let origin = Origin::echo();
    let edge = Edge::start(&zone(&origin));
    for fields in [
        "Upgrade: x\r\n",
        "Upgrade: websocket\r\n",
        "Upgrade: websocket\r\nConnection: upgrade\r\n",
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    ] {
        let response = Client::once(edge.proxy[0], post(fields, ATTACK));
        assert_eq!(response.status, 403, "{fields}");
        let chunks = format!(
            "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Transfer-Encoding: chunked\r\n{fields}\r\n{}",
            chunked(ATTACK)
        );
        assert_eq!(Client::once(edge.proxy[0], chunks).status, 403, "{fields} chunked");
        let get = format!(
            "GET / HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n{fields}\r\n{ATTACK}",
            ATTACK.len()
        );
        assert_eq!(Client::once(edge.proxy[0], get).status, 403, "{fields} GET");
    }
    assert_eq!(origin.begun(), Vec::<String>::new(), "the origin heard of none");
    let response = Client::once(edge.proxy[0], post("Upgrade: x\r\n", "a=b"));
    assert_eq!((response.status, response.text().as_str()), (200, "a=b"));
    assert_eq!(origin.last().header("upgrade"), None);
}

#[test]
fn an_origin_hears_of_a_request_when_it_is_judged() {
    let origin = Origin::echo();
    let edge = Edge::start(&zone(&origin));
    let attack = format!("/?{ATTACK}");
    for framing in ["Transfer-Encoding: chunked", "Content-Length: 70000", "Content-Length: 10"] {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!("GET {attack} HTTP/1.1\r\nHost: a.example\r\n{framing}\r\n\r\n"));
        // A head is judged with its body; one that never comes is waited for only so long.
        client.reader.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
        let response = client.receive();
        assert!(response.is_none_or(|response| response.status == 400), "{framing}");
    }
    for size in [100, 65_400, 65_536, 70_000, 300_000] {
        let body = format!("a={}&{ATTACK}", "x".repeat(size));
        let head = "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        let response = Client::once(edge.proxy[0], format!("{head}{}", chunked(&body)));
        assert_eq!(response.status, 403, "{size} chunked");
        assert_eq!(Client::once(edge.proxy[0], post("", &body)).status, 403, "{size}");
    }
    assert_eq!(origin.begun(), Vec::<String>::new());
    // A body that never ends is answered in time, and the origin hears nothing.
    let mut edge = Edge::start(&format!("{}[limits]\nidle_timeout = \"300ms\"\n", zone(&origin)));
    for framing in ["Transfer-Encoding: chunked", "Content-Length: 70000"] {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!("GET {attack} HTTP/1.1\r\nHost: a.example\r\n{framing}\r\n\r\n"));
        assert_eq!(client.receive().unwrap().status, 408, "{framing}");
    }
    edge.wait_for_event("request_refused", |event| event["reason"] == "body_timeout");
    assert_eq!(origin.begun(), Vec::<String>::new());
}

#[test]
fn refusals_follow_100_continue() {
    let origin = Origin::echo();
    let mut edge = Edge::start(&format!("{}[limits]\ninspected_body = \"100KB\"\n", zone(&origin)));
    let expecting = |length: &str| {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Expect: 100-continue\r\n{length}\r\n\r\n"
        ));
        client
    };
    let body = format!("a={}&{ATTACK}", "x".repeat(70_000));
    let mut client = expecting(&format!("Content-Length: {}", body.len()));
    assert_eq!(client.head().unwrap().status, 100);
    assert_eq!(client.send(&body).receive().unwrap().status, 403);
    let mut client = expecting("Transfer-Encoding: chunked");
    assert_eq!(client.head().unwrap().status, 100);
    assert_eq!(client.send(chunked(&"x".repeat(200_000))).receive().unwrap().status, 413);
    // Known before: no byte of it is asked for.
    assert_eq!(expecting("Content-Length: 200000").head().unwrap().status, 413);
    for status in [403, 413] {
        finished_with(&mut edge, status);
    }
    let dead = Edge::start(&format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:{}\"]\n[zones.waf]\n",
        free_port()
    ));
    let mut client = Client::connect(dead.proxy[0]);
    client.send("POST / HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    assert_eq!(client.head().unwrap().status, 100);
    assert_eq!(client.send("abc").receive().unwrap().status, 502);
    // curl waits for it with every body over a megabyte.
    let file = edge.folder.path().join("long");
    std::fs::write(&file, vec![b'x'; 1_500_000]).unwrap();
    let url = format!("http://{}/", edge.proxy[0]);
    let data = format!("@{}", file.display());
    assert_eq!(curl(&["-H", "host: a.example", "--data-binary", &data, &url]).0, 413);
}

#[test]
fn trailers_of_http2_spin_no_worker() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let port = free_port();
    std::fs::write(folder.path().join("index.html"), "fine").unwrap();
    let nghttpd = Command::new("nghttpd")
        .args(["--no-tls", "--echo-upload", "-a", "127.0.0.1", "-d"])
        .arg(folder.path())
        .arg(port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _nghttpd = Killed(nghttpd);
    wait_for("nghttpd", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    let conf = format!(
        "{}[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:{port}\"]\n\
         origin_protocol = \"http2\"\n[zones.waf]\n",
        tls_listener(&["a"])
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let body = edge.folder.path().join("body");
    std::fs::write(&body, "a=b").unwrap();
    let url = format!("https://127.0.0.1:{}/", edge.proxy[0].port());
    for _ in 0..3 {
        let sent = Command::new("nghttp")
            .args(["-n", "-t", "10", "-H", ":authority: a.example", "--trailer=x-checksum: 1", "-d"])
            .arg(&body)
            .arg(&url)
            .output()
            .unwrap();
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    }
    let requests = || edge.events().iter().filter(|event| event["event"] == "request").count();
    wait_for("three requests", || (requests() == 3).then_some(()));
    let before = processor_ticks(&edge);
    for _ in 0..20 {
        let resolve = format!("a.example:{}:127.0.0.1", edge.proxy[0].port());
        let url = format!("https://a.example:{}/index.html", edge.proxy[0].port());
        assert_eq!(curl(&["--http2", "--resolve", &resolve, &url]).0, 200);
    }
    // A worker that spins takes 100 ticks a second.
    assert!(processor_ticks(&edge) - before < 100, "a worker is busy with nothing");
}

/// Processor time of the edge so far, in hundredths of a second.
fn processor_ticks(edge: &Edge) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", edge.pid())).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

const CHAT: &str = r#"{"id":"1","model":"gpt-4o","choices":[{"message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":5,"completion_tokens":5,"total_tokens":10}}"#;

fn gateway(origin: &Origin, settings: &str) -> String {
    format!(
        "gateway_hosts = [\"gw.example\"]\n[[providers]]\nslug = \"openai\"\nbase_url = \"{}\"\nallow_private = true\n\
         [[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n{settings}",
        origin.url()
    )
}

fn ask(edge: &Edge, framing: &str, body: &str) -> u16 {
    let head = format!(
        "POST /v1/acme/main/openai/chat/completions HTTP/1.1\r\nHost: gw.example\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    );
    let mut client = Client::connect(edge.proxy[0]);
    client.send(head).send(body);
    client.receive().map_or(0, |response| response.status)
}

const NEEDING_A_BODY: &[&str] = &[
    "[[gateways.limits]]\nmeasure = \"tokens\"\nlimit = 100_000_000\ninterval = \"1d\"\n",
    "[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 1000.0\ninterval = \"1d\"\n",
    "[[gateways.limits]]\nmeasure = \"requests\"\nlimit = 1000\ninterval = \"1d\"\nby = [\"model\"]\n",
    "[gateways.sensitive_data]\nrequests = \"block\"\n",
    "cache_ttl = \"60s\"\n",
    "",
];

#[test]
fn calls_that_wait_for_their_body_arrive_whole() {
    for settings in NEEDING_A_BODY {
        let origin = Origin::fixed("application/json", CHAT);
        let edge = Edge::start(&gateway(&origin, settings));
        for size in [10, 3_000, 5_000, 16_000, 65_536, 400_000] {
            let body = format!(r#"{{"model":"gpt-4o","max_tokens":5,"messages":["{}"]}}"#, "x".repeat(size));
            assert_eq!(
                ask(&edge, &format!("Content-Length: {}", body.len()), &body),
                200,
                "{settings} {size}"
            );
            assert!(origin.last().body == body.as_bytes(), "{settings} {size}");
            assert_eq!(ask(&edge, "Transfer-Encoding: chunked", &chunked(&body)), 200, "{settings} {size}");
            assert!(origin.last().body == body.as_bytes(), "{settings} {size} chunked");
        }
        let long = "x".repeat(11 << 20);
        let needed = !settings.is_empty() && !settings.starts_with("cache");
        let before = origin.begun().len();
        let status = ask(&edge, "Transfer-Encoding: chunked", &chunked(&long));
        assert_eq!(status, if needed { 413 } else { 200 }, "{settings} 11 MB");
        assert_eq!(origin.begun().len() - before, usize::from(!needed), "{settings} 11 MB");
    }
}

#[test]
fn a_refused_call_sends_nothing_to_its_provider() {
    let card = ["4111", "1111", "1111", "1111"].join("");
    let ask_with = |settings: &str, fields: &str, status: u16| {
        let origin = Origin::fixed("application/json", CHAT);
        let edge = Edge::start(&gateway(&origin, settings));
        for size in [0, 5_000, 100_000] {
            let body = format!(
                r#"{{"model":"gpt-4o","max_tokens":100000,"messages":["{card} {}"]}}"#,
                "x".repeat(size)
            );
            let length =
                format!("Content-Length: {}\r\nAuthorization: Bearer provider-key{fields}", body.len());
            assert_eq!(ask(&edge, &length, &body), status, "{settings} {size}");
            let chunks = format!("Transfer-Encoding: chunked\r\nAuthorization: Bearer provider-key{fields}");
            assert_eq!(ask(&edge, &chunks, &chunked(&body)), status, "{settings} {size} chunked");
        }
        assert_eq!(origin.begun(), Vec::<String>::new(), "{settings}");
    };
    for fields in ["", "\r\nUpgrade: x", "\r\nUpgrade: websocket\r\nConnection: upgrade"] {
        ask_with("[[gateways.limits]]\nmeasure = \"tokens\"\nlimit = 10\ninterval = \"1d\"\n", fields, 429);
        ask_with("[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 0.0001\ninterval = \"1d\"\n", fields, 429);
        ask_with("[gateways.sensitive_data]\nrequests = \"block\"\n", fields, 400);
    }
}

fn ask_coded(edge: &Edge, coding: &str, body: &[u8]) -> u16 {
    let head = format!(
        "POST /v1/acme/main/openai/chat/completions HTTP/1.1\r\nHost: gw.example\r\nContent-Type: application/json\r\n\
         Content-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Client::once(edge.proxy[0], [head.as_bytes(), body].concat()).status
}

#[test]
fn a_coding_hides_no_card() {
    let card = ["4111", "1111", "1111", "1111"].join("");
    let origin = Origin::fixed("application/json", CHAT);
    let edge = Edge::start(&gateway(&origin, "[gateways.sensitive_data]\nrequests = \"block\"\n"));
    let ask = |coding: &str, body: &[u8]| ask_coded(&edge, coding, body);
    let (found, clean) = (format!("{{\"messages\":[\"{card}\"]}}"), "{\"messages\":[\"hello\"]}");
    assert_eq!((ask("gzip", &gzip(&found)), ask("x-own", found.as_bytes())), (400, 400));
    assert_eq!((ask("gzip", clean.as_bytes()), ask("gzip, gzip", &gzip(clean))), (400, 400));
    assert_eq!(origin.begun(), Vec::<String>::new());
    assert_eq!(ask("gzip", &gzip(clean)), 200);
    assert_eq!(origin.last().body, gzip(clean), "what passes is as it was");
}

#[test]
fn answers_for_head_end_over_http2() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let conf = format!(
        "{}[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:{}\"]\n",
        tls_listener(&["a"]),
        free_port()
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let resolve = format!("a.example:{}:127.0.0.1", edge.proxy[0].port());
    let url = format!("https://a.example:{}/", edge.proxy[0].port());
    for version in ["--http2", "--http1.1"] {
        assert_eq!(curl(&[version, "-I", "--resolve", &resolve, &url]).0, 502, "{version}");
    }
}

#[test]
fn a_refusal_reaches_a_client_that_still_sends() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let limits = "[limits]\ninspected_body = \"50KB\"\n";
    let edge = Edge::start_in(folder, &format!("{}{}{limits}", tls_listener(&["a"]), zone(&origin)), &[]);
    let resolve = format!("a.example:{}:127.0.0.1", edge.proxy[0].port());
    let url = format!("https://a.example:{}/", edge.proxy[0].port());
    let file = edge.folder.path().join("body");
    for size in [200_000, 3_000_000] {
        std::fs::write(&file, vec![b'x'; size]).unwrap();
        let data = format!("@{}", file.display());
        for version in ["--http2", "--http1.1"] {
            for expect in ["expect:", "expect: 100-continue"] {
                for _ in 0..3 {
                    let arguments =
                        [version, "-H", expect, "--resolve", &resolve, "--data-binary", &data, &url];
                    assert_eq!(curl(&arguments).0, 413, "{version} {size} {expect}");
                }
            }
        }
    }
}

/// A call that costs a tenth of a dollar, whatever is asked: a hundred tokens of a thousandth each.
const DEAR: &str = r#"{"id":"1","model":"m","choices":[{"message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":0,"completion_tokens":100,"total_tokens":100}}"#;

/// Ways to spend more than a budget: what the caller adds to the head, and the body.
const WAYS: &[(&str, &str)] = &[
    ("", r#"{"model":"m","max_tokens":100}"#),
    ("", r#"{"model":"m"}"#),
    ("", r#"{"model":"m","max_tokens":18446744073709551615}"#),
    ("", r#"{"model":"m","max_tokens":18446744073709551516}"#),
    ("", r#"{"model":"m","max_tokens":1e300}"#),
    ("", r#"{"model":"m","max_tokens":-1}"#),
    ("", r#"{"model":"m","max_tokens":"100"}"#),
    ("", r#"{"model":"m","max_tokens":null}"#),
    ("", r#"{"model":"m","max_tokens":1,"max_tokens":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"maxTokens":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"max_completion_tokens":100}"#),
    ("", r#"{"model":"m","max_output_tokens":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"n":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"best_of":100}"#),
    ("", r#"{"model":"m","max_tokens":1,"n":1,"n":100}"#),
    ("", r#"{"model":"m","generationConfig":{"maxOutputTokens":1,"candidateCount":100}}"#),
    ("", r#"{"model":"m","inferenceConfig":{"maxTokens":100}}"#),
    ("", r#"{"model":"m","parameters":{"max_new_tokens":100}}"#),
    ("", r#"{"model":"m","options":{"num_predict":-1}}"#),
    (
        "",
        r#"{"requests":[{"params":{"model":"m","max_tokens":50}},{"params":{"model":"m","max_tokens":50}}]}"#,
    ),
    (
        "",
        r#"{"requests":[{"params":{"model":"m","max_tokens":1}},{"params":{"model":"free","max_tokens":1}}]}"#,
    ),
    ("", r#"{"model":"free","model":"m","max_tokens":100}"#),
    ("", r#"{"model":"m","Model":"free","max_tokens":100}"#),
    ("", r#"{"model":"free","mod\u0065l":"m","max_tokens":100}"#),
    ("", r#"{"model":"unknown","max_tokens":100}"#),
    ("", r#"{"max_tokens":100}"#),
    ("", r#"{"model":"","max_tokens":100}"#),
    ("", r#"{"model":["m"],"max_tokens":100}"#),
    ("", r#"[{"model":"m","max_tokens":100}]"#),
    ("", "\u{feff}{\"model\":\"m\",\"max_tokens\":100}"),
    ("", r#"{"model":"m","max_tokens":100"#),
    ("", r#"{"model":"m","max_tokens":100}{}"#),
    ("", "model=m&max_tokens=100"),
    ("", ""),
    ("", r#"{"model":"m","max_tokens":100,"stream":true,"tools":[{"type":"web_search"}]}"#),
    ("", r#"{"model":"m","max_tokens":100,"previous_response_id":"r1"}"#),
    (
        "",
        r#"{"model":"m","max_tokens":100,"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://x.example/i"}}]}]}"#,
    ),
    (
        "svc-aig-custom-cost: {\"per_token_in\":0,\"per_token_out\":0}\r\n",
        r#"{"model":"m","max_tokens":100}"#,
    ),
    (
        "svc-aig-custom-cost: {\"per_token_in\":0,\"per_token_out\":0}\r\n",
        r#"{"model":"unknown","max_tokens":100}"#,
    ),
    ("svc-aig-collect-log: false\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("svc-aig-collect-log-payload: false\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("svc-aig-max-attempts: 5\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("svc-aig-cache-ttl: 60\r\nsvc-aig-skip-cache: true\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("Upgrade: websocket\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("Content-Encoding: gzip\r\n", r#"{"model":"m","max_tokens":100}"#),
    ("X-HTTP-Method-Override: GET\r\n", r#"{"model":"m","max_tokens":100}"#),
];

fn spender(origin: &Origin, settings: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let prices = r#"{"m":{"input_cost_per_token":0.000001,"output_cost_per_token":0.001},
                     "free":{"input_cost_per_token":0,"output_cost_per_token":0}}"#;
    std::fs::write(folder.path().join("prices.json"), prices).unwrap();
    let limit =
        "[[gateways.limits]]\nmeasure = \"cost\"\nlimit = 1.0\ninterval = \"30d\"\nby = [\"metadata.way\"]\n";
    let conf = format!("model_prices = \"prices.json\"\n{}", gateway(origin, &format!("{settings}{limit}")));
    (folder, conf)
}

fn spend(edge: &Edge, way: &str, fields: &str, body: &str) -> u16 {
    let framing =
        format!("Content-Length: {}\r\n{fields}svc-aig-metadata: {{\"way\":\"{way}\"}}", body.len());
    ask(edge, &framing, body)
}

#[test]
fn no_way_around_a_budget() {
    let origin = Origin::fixed("application/json", DEAR);
    let (folder, conf) = spender(&origin, "");
    let edge = Edge::start_in(folder, &conf, &[]);
    let mut refused = 0;
    for (nth, (fields, body)) in WAYS.iter().enumerate() {
        let way = format!("way-{nth}");
        origin.forget();
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        spend(&edge, &way, fields, body);
                    }
                });
            }
        });
        let spent = origin.begun().len();
        // One dollar, and at most one call more.
        assert!(spent <= 11, "{spent} calls of 0.1 $ by {fields:?} {body:?}");
        // The first one is nearly exact: of the tenth call the input is reserved beside the answer.
        assert!(nth > 0 || spent == 9, "{spent}");
        refused += usize::from(spent == 0);
    }
    assert_eq!((WAYS.len(), refused), (46, 24), "ways, and those of them that are refused");
    // Where the operator says what such a call counts, it passes as often as that allows.
    let unknown = Origin::fixed("application/json", DEAR.replace("\"m\"", "\"unknown\""));
    let (folder, conf) = spender(&unknown, "unpriced_call_cost = 0.5\n");
    let edge = Edge::start_in(folder, &conf, &[]);
    let statuses: Vec<u16> =
        (0..4).map(|_| spend(&edge, "u", "", r#"{"model":"unknown","max_tokens":100}"#)).collect();
    assert_eq!(statuses, [200, 200, 429, 429]);
    // And where it lets callers set prices, those count.
    let (folder, conf) = spender(&origin, "caller_prices = true\n");
    let edge = Edge::start_in(folder, &conf, &[]);
    let fields = "svc-aig-custom-cost: {\"per_token_in\":0,\"per_token_out\":0}\r\n";
    let passed = (0..20).filter(|_| spend(&edge, "c", fields, r#"{"model":"m","max_tokens":100}"#) == 200);
    assert_eq!(passed.count(), 20);
}

#[test]
fn a_coded_call_counts_what_it_holds() {
    let origin = Origin::fixed("application/json", DEAR);
    let limit = "[[gateways.limits]]\nmeasure = \"tokens\"\nlimit = 5000\ninterval = \"30d\"\n";
    let edge = Edge::start(&gateway(&origin, limit));
    let call = |words: usize| {
        let words: String = (0..words).map(|nth| format!("word {} ", nth % 100)).collect();
        format!(r#"{{"model":"m","max_tokens":1,"messages":[{{"content":"{words}"}}]}}"#)
    };
    let send = |coding: &str, body: &[u8]| ask_coded(&edge, coding, body);
    let long = gzip(call(4_000));
    assert!(long.len() < 4_000, "its own bytes would fit");
    assert_eq!((send("identity", call(4_000).as_bytes()), send("gzip", &long)), (429, 429));
    assert_eq!((send("gzip", call(10).as_bytes()), send("x-own", call(10).as_bytes())), (400, 400));
    assert!(origin.begun().is_empty(), "none of these left");
    let short = gzip(call(10));
    assert_eq!(send("gzip", &short), 200);
    assert_eq!(origin.last().body, short, "what passes is as it was");
}

#[test]
fn budgets_outlast_a_restart() {
    for fields in ["", "svc-aig-collect-log: false\r\n"] {
        let origin = Origin::fixed("application/json", DEAR);
        let (folder, conf) = spender(&origin, "");
        let mut edge = Edge::start_in(folder, &conf, &[]);
        let body = r#"{"model":"m","max_tokens":100}"#;
        let mut passed = 0;
        for _ in 0..3 {
            passed += (0..4).filter(|_| spend(&edge, "r", fields, body) == 200).count();
            edge.signal("TERM");
            edge.wait_for_exit();
            edge = edge.again();
        }
        assert!((9..=10).contains(&passed), "{passed} of 12 calls of 0.1 $ {fields}");
    }
}

fn ask_as(edge: &Edge, fields: &str, body: &str) -> crate::support::Response {
    let length = body.len();
    Client::once(
        edge.proxy[0],
        format!(
            "POST /v1/acme/main/openai/chat/completions HTTP/1.1\r\nHost: gw.example\r\n{fields}\
             Content-Length: {length}\r\n\r\n{body}"
        ),
    )
}

#[test]
fn answers_are_for_who_asked() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let origin = Origin::start(move |_, stream| {
        let body = format!("{{\"answer\":{}}}", asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        std::io::Write::write_all(stream, head.as_bytes()).is_ok()
    });
    for (shared, callers) in [(false, [0, 1, 2]), (true, [0, 0, 0])] {
        let conf = gateway(&origin, &format!("cache_ttl = \"60s\"\ncache_shared = {shared}\n"));
        let edge = Edge::start(&conf);
        let path = edge.folder.path().join("p.toml").display().to_string();
        let token = |name: &str| {
            let made = [
                "token",
                "create",
                "--account",
                "acme",
                "--gateway",
                "main",
                "--name",
                name,
                "--conf",
                &path,
            ];
            let output = Command::new(crate::support::BINARY)
                .args(made)
                .current_dir(edge.folder.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let (a, b) = (token("a"), token("b"));
        let body = r#"{"model":"m"}"#;
        // Tokens take effect a moment after they are made.
        let known = |token: &str| {
            let fields = format!("svc-aig-authorization: Bearer {token}\r\nsvc-aig-skip-cache: true\r\n");
            let id = ask_as(&edge, &fields, body).header("svc-aig-request-id").unwrap().to_owned();
            let mut found = None;
            wait_for("the line of the call", || {
                found =
                    edge.events().iter().find(|e| e["event"] == "ai_call" && e["id"] == id.as_str()).cloned();
                found.clone()
            });
            (!found.unwrap()["token_id"].is_null()).then_some(())
        };
        wait_for("both tokens", || known(&a).and_then(|()| known(&b)));
        let first = |fields: &str, body: &str| ask_as(&edge, fields, body).text();
        let fields = |token: &str| format!("svc-aig-authorization: Bearer {token}\r\n");
        let answers = [first(&fields(&a), body), first(&fields(&b), body), first("", body)];
        let different: Vec<usize> =
            answers.iter().map(|text| answers.iter().position(|other| other == text).unwrap()).collect();
        assert_eq!(different, callers, "{answers:?}");
        assert_eq!(first(&fields(&a), body), answers[0], "the same question of the same caller");
        if shared {
            continue;
        }
        // Nothing that may change an answer is passed over, and a name joins no questions.
        for (fields, body) in [
            ("accept: text/event-stream\r\n", body),
            ("accept-encoding: gzip\r\n", body),
            ("openai-organization: o\r\n", body),
            ("anthropic-beta: b\r\n", body),
            ("svc-aig-cache-key: k\r\n", body),
            ("svc-aig-cache-key: k\r\n", r#"{"model":"other"}"#),
        ] {
            let caller = format!("svc-aig-authorization: Bearer {a}\r\n{fields}");
            assert!(!answers.contains(&first(&caller, body)), "{fields} {body}");
        }
    }
}
