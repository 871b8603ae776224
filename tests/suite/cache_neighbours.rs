//! Kept responses beside other features: rules, scans, services that are asked, protocols, clients that go away.

use crate::cache::{LONG, conf, get, long, origin, send};
use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, certificate, curl_output, wait_for};

#[test]
fn rules_and_scans_see_what_is_kept() {
    let origin = origin();
    let settings = "compression = [\"gzip\"]\n[zones.waf]\nresponse_rules = true\n[zones.sensitive_data]\n[zones.cache]\n\
         [[zones.rulesets]]\nphase = \"http_custom_errors\"\n[[zones.rulesets.rules]]\naction = \"serve_error\"\n\
         expression = \"http.response.code eq 404\"\naction_parameters = { content = \"ours\", content_type = \"text/plain\" }\n";
    let mut edge = Edge::start(&conf(&origin, settings));
    let kept = get(&edge, "/max", "").1;
    for target in ["/max?q=1'%20UNION%20SELECT%20password%20FROM%20users--", "/max"] {
        let attack = if target == "/max" { "Cookie: a=<script>alert(1)</script>\r\n" } else { "" };
        for _ in 0..2 {
            let (word, answer) = send(&edge, "GET", target, attack);
            assert_eq!((word.as_str(), answer.status), ("", 403), "{target}");
        }
    }
    assert_eq!(get(&edge, "/max", ""), ("HIT".into(), kept));
    // Sensitive data in a kept response is reported once, however often the response is served.
    assert_eq!((get(&edge, "/card", "").0, get(&edge, "/card", "").0), ("MISS".into(), "HIT".into()));
    edge.wait_for_event("sensitive_data", |_| true);
    edge.wait_for_metric("portcullis_scans_skipped_total{reason=\"identical\"}", 1.0);
    assert_eq!(edge.metric("portcullis_scans_total"), 1.0, "a body is scanned once");
    // Pages in the place of errors, which an origin sent once.
    origin.forget();
    for word in ["MISS", "HIT", "HIT"] {
        let (told, answer) = send(&edge, "GET", "/missing", "");
        assert_eq!((told.as_str(), answer.status, answer.text().as_str()), (word, 404, "ours"));
    }
    assert_eq!(origin.requests().len(), 1);
    // It is kept as the origin sent it, and coded for each client.
    for (accepts, coding) in [("gzip", Some("gzip")), ("identity", None), ("gzip", Some("gzip"))] {
        let (_, answer) = send(&edge, "GET", "/card", &format!("Accept-Encoding: {accepts}\r\n"));
        assert_eq!(answer.header("content-encoding"), coding);
    }
}

#[test]
fn kept_responses_go_out_over_http2_and_tls() {
    // Rules over responses judge whole bodies, so that parts are given only without them.
    for (rules, part) in [("", "206"), ("response_rules = true\n", "200")] {
        go_out_over_http2_and_tls(rules, part);
    }
}

fn go_out_over_http2_and_tls(rules: &str, part_status: &str) {
    let origin = origin();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let listeners = format!("[[listeners]]\naddress = \"127.0.0.1:0\"\n{}", tls_listener(&["a"]));
    let zone = format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n{rules}[zones.cache]\n",
        origin.url()
    );
    let edge = Edge::start_in(folder, &format!("{listeners}{zone}"), &[]);
    let resolve = format!("a.example:{}:127.0.0.1", edge.proxy[1].port());
    let url = format!("https://a.example:{}", edge.proxy[1].port());
    let fetch = |version: &str, target: &str, further: &[&str]| {
        let url = format!("{url}{target}");
        let arguments = [&[version, "-i", "--resolve", &resolve, &url], further].concat();
        String::from_utf8_lossy(&curl_output(&arguments).stdout).to_ascii_lowercase()
    };
    for target in ["/long", "/chunks", "/max"] {
        let first = fetch("--http2", target, &[]);
        assert!(first.starts_with("http/2 200") && first.contains("svc-cache-status: miss"), "{first:.300}");
        let body = |text: &str| text.split_once("\r\n\r\n").unwrap().1.to_owned();
        for version in ["--http2", "--http1.1"] {
            let again = fetch(version, target, &[]);
            assert!(again.contains("svc-cache-status: hit"), "{again:.300}");
            assert_eq!(body(&again), body(&first), "{target} {version}");
        }
        let part = fetch("--http2", target, &["-r", "0-0"]);
        assert!(part.starts_with(&format!("http/2 {part_status}")), "{part:.300}");
        assert!(fetch("--http2", target, &["-I"]).contains("svc-cache-status: hit"), "{target}");
        // The scheme is a part of what is asked for.
        assert_eq!(send(&edge, "GET", target, "").0, "MISS", "{target}");
    }
    let fat = fetch("--http2", "/max", &["-X", "GET", "-d", "x=1"]);
    assert!(fat.contains("svc-cache-status: bypass"), "{fat:.300}");
}

#[test]
fn what_breaks_off_or_is_rewritten_is_kept_as_what_it_is() {
    let origin = origin();
    let rewrite = "[[zones.rulesets]]\nphase = \"http_request_transform\"\n[[zones.rulesets.rules]]\naction = \"rewrite\"\n\
         expression = 'starts_with(http.request.uri.path, \"/public/\")'\n\
         action_parameters = { uri = { path = { value = \"/max\" } } }\n";
    let edge = Edge::start(&conf(&origin, &format!("[zones.cache]\n{rewrite}")));
    // Two targets that an origin sees as one are dropped by their own names, and so are two.
    assert_eq!(get(&edge, "/public/a", "").0, "MISS");
    assert_eq!((get(&edge, "/public/b", "").0, get(&edge, "/max", "").0), ("MISS".into(), "MISS".into()));
    assert_eq!(get(&edge, "/public/a", "").0, "HIT");
    // A client that goes away in the middle of a long answer leaves no part of it behind.
    for _ in 0..5 {
        let mut client = Client::connect(edge.proxy[0]);
        client.send("GET /long?away HTTP/1.1\r\nHost: a.example\r\n\r\n");
        assert_eq!(client.head().unwrap().status, 200);
    }
    for _ in 0..2 {
        let (_, answer) = send(&edge, "GET", "/long?away", "");
        assert!(answer.body.len() > LONG && answer.body.ends_with(&long(0)[LONG - 10..]));
    }
    // HTTP/1.0 knows no chunks.
    assert_eq!(get(&edge, "/chunks", "").0, "MISS");
    let old = Client::once(edge.proxy[0], "GET /chunks HTTP/1.0\r\nHost: a.example\r\n\r\n");
    assert_eq!((old.header("svc-cache-status"), old.header("transfer-encoding")), (Some("HIT"), None));
    assert!(old.body.len() > LONG);
    // Connections are kept over hits, and requests behind each other get their own answers.
    let mut client = Client::connect(edge.proxy[0]);
    let line = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n");
    client.send(["/chunks", "/public/a", "/nothing", "/chunks"].map(line).concat());
    let words: Vec<String> =
        (0..4).map(|_| client.receive().unwrap().header("svc-cache-status").unwrap().to_owned()).collect();
    assert_eq!(words, ["HIT", "HIT", "DYNAMIC", "HIT"]);
}

#[test]
fn rules_over_responses_see_no_body_in_pieces() {
    let origin = origin();
    let folder = tempfile::tempdir().unwrap();
    let rule =
        "SecResponseBodyAccess On\nSecRule RESPONSE_BODY \"@contains SQL syntax\" \"id:1,phase:4,deny\"\n";
    std::fs::write(folder.path().join("own.conf"), rule).unwrap();
    let of = |waf: &str| {
        format!(
            "[rules]\nowasp = [\"own.conf\"]\n{}",
            conf(&origin, &format!("[zones.waf]\n{waf}[zones.cache]\n"))
        )
    };
    let edge = Edge::start_in(folder, &of(""), &[]);
    assert_eq!(get(&edge, "/leak", "").0, "MISS");
    assert_eq!(send(&edge, "GET", "/leak", "Range: bytes=0-3\r\n").1.status, 206);
    edge.rewrite(&of("response_rules = true\n"));
    edge.signal("HUP");
    let whole = || {
        Client::connect(edge.proxy[0])
            .send("GET /leak HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
            .receive_all()
    };
    wait_for("the rules", || (!String::from_utf8_lossy(&whole()).contains("SQL")).then_some(()));
    // No piece of what is refused as a whole, and all of what is not.
    for range in ["bytes=0-3", "bytes=30-", "bytes=-9", "bytes=0-1,5-6"] {
        let head =
            format!("GET /leak HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\nRange: {range}\r\n\r\n");
        let answer =
            String::from_utf8_lossy(&Client::connect(edge.proxy[0]).send(head).receive_all()).into_owned();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        assert!(!answer.contains(" 206 ") && body.is_empty(), "{range}: {answer}");
    }
    assert_eq!(get(&edge, "/max", "").0, "MISS");
    let (word, answer) = send(&edge, "GET", "/max", "Range: bytes=0-0\r\n");
    assert_eq!((word.as_str(), answer.status), ("HIT", 200));
}

#[test]
fn what_a_service_let_in_is_kept_for_nobody() {
    let origin = origin();
    let service = Origin::start(|request, stream| {
        let status = if request.header("cookie") == Some("who=ann") { "200 OK" } else { "403 Forbidden" };
        std::io::Write::write_all(
            stream,
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes(),
        )
        .is_ok()
    });
    let settings = format!(
        "[zones.waf]\n[zones.cache]\n[[zones.forward_auth]]\nurl = \"{}/\"\n\
         expression = 'not starts_with(http.request.uri.path, \"/open\")'\n",
        service.url()
    );
    let edge = Edge::start(&conf(&origin, &settings));
    let (first, second) =
        (get(&edge, "/max", "Cookie: who=ann\r\n"), get(&edge, "/max", "Cookie: who=ann\r\n"));
    assert_eq!((first.0.as_str(), second.0.as_str()), ("BYPASS", "BYPASS"));
    assert_ne!(first.1, second.1);
    for fields in ["", "Cookie: who=eve\r\n"] {
        assert_eq!(send(&edge, "GET", "/max", fields).1.status, 403);
    }
    assert_eq!(
        (get(&edge, "/open", "").0, get(&edge, "/open", "Cookie: who=eve\r\n").0),
        ("MISS".into(), "HIT".into())
    );
}
