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

pub(crate) fn gateway(origin: &Origin, settings: &str) -> String {
    format!(
        "gateway_hosts = [\"gw.example\"]\n[[providers]]\nslug = \"openai\"\nbase_url = \"{}\"\nallow_private = true\n\
         [[gateways]]\naccount = \"acme\"\nid = \"main\"\nauthentication = false\n{settings}",
        origin.url()
    )
}

pub(crate) fn ask(edge: &Edge, framing: &str, body: &str) -> u16 {
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

pub(crate) fn ask_coded(edge: &Edge, coding: &str, body: &[u8]) -> u16 {
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
