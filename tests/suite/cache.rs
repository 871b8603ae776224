//! Responses that are kept: for whom, under what, how long, and that nobody gets what is another's.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{Client, Edge, Origin, Response, refused_by_check, wait_for};

pub(crate) const KEPT: &str = "cache-control: max-age=600\r\n";
pub(crate) const LONG: usize = 300_000;

/// An origin whose answers say how many came before, and are kept or not by their path.
pub(crate) fn origin() -> Origin {
    let count = AtomicUsize::new(0);
    Origin::start(move |request, stream| {
        let nth = count.fetch_add(1, Ordering::Relaxed);
        let path = request.path().split('?').next().unwrap_or("");
        let told = |name: &str| request.header(name).unwrap_or("").to_owned();
        let (status, fields, body) = match path {
            "/nothing" => (200, String::new(), format!("{nth}")),
            "/page" => (200, "content-type: text/html\r\n".into(), format!("{nth}")),
            "/image" => (200, "content-type: image/png\r\n".into(), format!("{nth}")),
            "/private" => (200, "cache-control: private, max-age=600\r\n".into(), format!("{nth}")),
            "/cookie" => (200, format!("{KEPT}set-cookie: id={nth}\r\n"), format!("{nth}")),
            "/language" => (200, format!("{KEPT}vary: accept-language\r\n"), told("accept-language")),
            "/coded" => (200, format!("{KEPT}vary: accept-encoding\r\n"), told("accept-encoding")),
            "/by-client" => (200, format!("{KEPT}vary: x-forwarded-for\r\n"), format!("{nth}")),
            "/etag" if told("if-none-match") == "\"a\"" => {
                (304, "etag: \"a\"\r\nx-new: 1\r\n".into(), String::new())
            }
            "/etag" => (200, "cache-control: no-cache\r\netag: \"a\"\r\n".into(), format!("{nth}")),
            "/old" if told("x-fail") == "1" => (503, String::new(), "away".into()),
            "/old" => (
                200,
                "cache-control: max-age=0, stale-if-error=600\r\netag: \"b\"\r\n".into(),
                format!("{nth}"),
            ),
            "/missing" => (404, KEPT.into(), format!("{nth}")),
            "/tagged" => (200, format!("{KEPT}cache-tag: blue, green\r\n"), format!("{nth}")),
            "/host" => (200, KEPT.into(), format!("{} {}", told("x-forwarded-host"), told("x-original-url"))),
            "/card" => (
                200,
                format!("{KEPT}content-type: text/html\r\n"),
                format!("card number 4111 1111 1111 1111{}", " and more".repeat(200)),
            ),
            "/leak" => (
                200,
                format!("{KEPT}content-type: text/html\r\n"),
                "You have an error in your SQL syntax; check the manual".into(),
            ),
            "/cut" => {
                let _ = stream.write_all(
                    format!("HTTP/1.1 200 OK\r\n{KEPT}content-length: 100\r\n\r\n{nth}").as_bytes(),
                );
                return false;
            }
            "/close" => {
                let _ = stream
                    .write_all(format!("HTTP/1.1 200 OK\r\n{KEPT}connection: close\r\n\r\n{nth}").as_bytes());
                return false;
            }
            "/chunks" => {
                let mut answer = format!("HTTP/1.1 200 OK\r\n{KEPT}transfer-encoding: chunked\r\nconnection: x-hop\r\nx-hop: 1\r\n\r\n").into_bytes();
                for piece in long(nth).chunks(7_000) {
                    answer.extend(format!("{:x}\r\n", piece.len()).into_bytes());
                    answer.extend([piece, b"\r\n"].concat());
                }
                answer.extend(b"0\r\n\r\n");
                return stream.write_all(&answer).is_ok();
            }
            "/long" => {
                let body = long(nth);
                let head = format!("HTTP/1.1 200 OK\r\n{KEPT}content-length: {}\r\n\r\n", body.len());
                return stream.write_all(&[head.as_bytes(), &body].concat()).is_ok();
            }
            _ => (200, KEPT.into(), format!("{nth}")),
        };
        let length =
            if status == 304 { String::new() } else { format!("content-length: {}\r\n", body.len()) };
        let body = if request.line.starts_with("HEAD") { "" } else { &body };
        stream.write_all(format!("HTTP/1.1 {status} X\r\n{fields}{length}\r\n{body}").as_bytes()).is_ok()
    })
}

pub(crate) fn long(nth: usize) -> Vec<u8> {
    let mut body = format!("{nth} ").into_bytes();
    body.extend((0..LONG).map(|at| b'a' + u8::try_from(at % 23).unwrap()));
    body
}

pub(crate) fn conf(origin: &Origin, settings: &str) -> String {
    format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{settings}\n",
        origin.url()
    )
}

const CACHE: &str = "[zones.waf]\n[zones.cache]\n";

/// An answer, with the word of where it comes from.
pub(crate) fn send(edge: &Edge, method: &str, target: &str, fields: &str) -> (String, Response) {
    let mut client = Client::connect(edge.proxy[0]);
    client
        .send(format!("{method} {target} HTTP/1.1\r\nHost: a.example\r\n{fields}Connection: close\r\n\r\n"));
    let answer = if method == "HEAD" { client.head() } else { client.receive() };
    let answer = answer.unwrap_or_else(|| panic!("no whole answer to {method} {target}"));
    (answer.header("svc-cache-status").unwrap_or("").to_owned(), answer)
}

pub(crate) fn get(edge: &Edge, target: &str, fields: &str) -> (String, String) {
    let (word, answer) = send(edge, "GET", target, fields);
    (word, answer.text())
}

/// What became of two requests, one after the other, and whether the second got the answer to the first.
fn twice(edge: &Edge, target: &str, fields: &str) -> (String, String, bool) {
    let (first, second) = (get(edge, target, fields), get(edge, target, fields));
    (first.0, second.0, first.1 == second.1)
}

#[test]
fn what_its_origin_lets_be_kept_is_served_again() {
    let origin = origin();
    let edge = Edge::start(&conf(&origin, CACHE));
    for (target, first, second) in [
        ("/max", "MISS", "HIT"),
        ("/max?a", "MISS", "HIT"),
        ("/max?b", "MISS", "HIT"),
        ("/missing", "MISS", "HIT"),
        ("/chunks", "MISS", "HIT"),
        ("/long", "MISS", "HIT"),
        ("/etag", "MISS", "REVALIDATED"),
        ("/nothing", "DYNAMIC", "DYNAMIC"),
        ("/private", "DYNAMIC", "DYNAMIC"),
        ("/cookie", "DYNAMIC", "DYNAMIC"),
        ("/by-client", "DYNAMIC", "DYNAMIC"),
    ] {
        let is_kept = second != "DYNAMIC";
        assert_eq!(twice(&edge, target, ""), (first.into(), second.into(), is_kept), "{target}");
    }
    // Its own cookie does not keep anybody from what is the same for all.
    assert_eq!(get(&edge, "/max", "Cookie: a=b\r\n").0, "HIT");
    let (_, answer) = send(&edge, "GET", "/chunks", "");
    assert!(answer.body.ends_with(&long(0)[2..]) && answer.body.len() > LONG, "{}", answer.body.len());
    assert_eq!((answer.header("x-hop"), answer.header("age").is_some()), (None, true));
    // The answer to one that ends with its connection cannot be known to be whole.
    let close = || {
        Client::connect(edge.proxy[0])
            .send("GET /close HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
            .receive_all()
    };
    assert_ne!(close(), close());
    for _ in 0..2 {
        let cut =
            Client::connect(edge.proxy[0]).send("GET /cut HTTP/1.1\r\nHost: a.example\r\n\r\n").receive_all();
        assert!(!String::from_utf8_lossy(&cut).contains("HIT"));
    }
    edge.wait_for_metric("portcullis_cache_requests_total{status=\"REVALIDATED\",zone=\"a.example\"}", 1.0);
    let answers =
        format!("portcullis_origin_response_seconds_count{{origin=\"{}\",zone=\"a.example\"}}", origin.url());
    assert_eq!(
        edge.metric(&answers),
        origin.requests().len() as f64,
        "what is kept is no answer of an origin"
    );
    assert_eq!(edge.metric("portcullis_cached_responses"), 7.0);
    assert!(edge.metric("portcullis_cached_responses_bytes") > 600_000.0);
    let hit = edge.events().into_iter().find(|event| event["CacheCacheStatus"] == "HIT").unwrap();
    assert_eq!((&hit["EdgeResponseStatus"], &hit["OriginResponseStatus"]), (&json!(200), &json!(0)));
}

#[test]
fn nobody_chooses_what_others_get() {
    let origin = origin();
    // Without rules, which refuse some of these.
    let edge = Edge::start(&conf(&origin, "[zones.cache]\n"));
    // Who says who they are is answered by the origin, and not with what others got.
    let kept = get(&edge, "/max", "").1;
    for fields in ["Authorization: Basic YTpi\r\n", "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n"]
    {
        let body = match fields {
            "Content-Length: 1\r\n" => "x",
            "Transfer-Encoding: chunked\r\n" => "1\r\nx\r\n0\r\n\r\n",
            _ => "",
        };
        let mut client = Client::connect(edge.proxy[0]);
        let answer = client
            .send(format!("GET /max HTTP/1.1\r\nHost: a.example\r\n{fields}\r\n{body}"))
            .receive()
            .unwrap();
        assert_eq!(answer.header("svc-cache-status"), Some("BYPASS"), "{fields}");
        assert_ne!(answer.text(), kept, "{fields}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let (word, answer) = send(&edge, method, "/max", "Content-Length: 0\r\n");
        assert!(word == "BYPASS" && answer.text() != kept, "{method} {word}");
    }
    assert_eq!(get(&edge, "/max", ""), ("HIT".into(), kept));
    // Fields by which an origin may answer, under all their spellings.
    for (nth, field) in [
        "X-Original-URL: /admin",
        "x_original_url: /admin",
        "X-Rewrite-Url: /admin",
        "X-HTTP-Method-Override: DELETE",
        "Origin: https://evil.example",
        "X-Forwarded-Scheme: http",
        "X-Host: evil.example",
        "Forwarded: host=evil.example",
    ]
    .iter()
    .enumerate()
    {
        let target = format!("/host?{nth}");
        let poisoned = get(&edge, &target, &format!("{field}\r\n"));
        assert_eq!(poisoned.0, "MISS", "{field}");
        let plain = get(&edge, &target, "");
        assert_eq!((plain.0.as_str(), plain.1.contains("evil")), ("MISS", false), "{field}");
        assert_eq!(get(&edge, &target, &format!("{field}\r\n")).0, "HIT", "{field}");
    }
    // What the edge sets itself is not for a client to choose.
    assert_eq!(get(&edge, "/host?f", "X-Forwarded-Host: evil.example\r\n").1.trim(), "a.example");
    assert_eq!(get(&edge, "/host?f", "").0, "HIT");
    // Targets that a server may read as one are not one.
    let targets = ["/t?x=1", "/t?x=1&", "/T?x=1", "//t?x=1", "/t%3Fx=1", "/./t?x=1", "/t?X=1", "/t;?x=1"];
    let bodies: Vec<String> = targets.iter().map(|target| get(&edge, target, "").1).collect();
    let mut distinct = bodies.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), targets.len(), "{bodies:?}");
    // The absolute form of a target is the same target.
    assert_eq!(get(&edge, "http://a.example/t?x=1", ""), ("HIT".into(), bodies[0].clone()));
}

#[test]
fn variants_are_kept_beside_each_other() {
    let origin = origin();
    let edge = Edge::start(&conf(&origin, CACHE));
    for language in ["de", "en", "de, en"] {
        let fields = format!("Accept-Language: {language}\r\n");
        assert_eq!(get(&edge, "/language", &fields), ("MISS".into(), language.into()));
    }
    for language in ["de", "en", "de, en"] {
        let fields = format!("Accept-Language: {language}\r\n");
        assert_eq!(get(&edge, "/language", &fields), ("HIT".into(), language.into()));
    }
    // Two fields are not one with a comma.
    assert_eq!(get(&edge, "/language", "Accept-Language: de\r\nAccept-Language: en\r\n").0, "MISS");
    // Those that take the same codings get the same.
    assert_eq!(
        get(&edge, "/coded", "Accept-Encoding: gzip, deflate, br\r\n"),
        ("MISS".into(), "br, gzip".into())
    );
    assert_eq!(get(&edge, "/coded", "Accept-Encoding: br;q=0.5,gzip\r\n").0, "HIT");
    assert_eq!(get(&edge, "/coded", "Accept-Encoding: gzip, br;q=0\r\n"), ("MISS".into(), "gzip".into()));
    assert_eq!(get(&edge, "/coded", ""), ("MISS".into(), String::new()));
}

#[test]
fn parts_and_conditions_are_answered_from_what_is_kept_and_make_an_origin_send_no_more() {
    let origin = origin();
    let edge = Edge::start(&conf(&origin, "[zones.cache]\n"));
    // Before it is kept, an origin gets what the client asks for.
    for fields in [
        "Range: bytes=0-0\r\n",
        "If-None-Match: *\r\n",
        "If-Modified-Since: Mon, 12 Jan 1970 13:46:50 GMT\r\n",
    ] {
        origin.forget();
        assert_eq!(send(&edge, "GET", "/long", fields).0, "BYPASS", "{fields}");
        let (name, value) = fields.trim().split_once(": ").unwrap();
        assert_eq!(origin.last().header(name), Some(value), "{fields}");
    }
    origin.forget();
    assert_eq!(send(&edge, "HEAD", "/max?h", "").0, "BYPASS");
    assert!(origin.last().line.starts_with("HEAD "));

    let (_, whole) = send(&edge, "GET", "/long", "");
    origin.forget();
    let (word, part) = send(&edge, "GET", "/long", "Range: bytes=5-9\r\n");
    assert_eq!((word.as_str(), part.status, &part.body[..]), ("HIT", 206, &whole.body[5..10]));
    let (_, last) = send(&edge, "GET", "/long", "Range: bytes=-70000\r\n");
    assert_eq!((last.status, &last.body[..]), (206, &whole.body[whole.body.len() - 70_000..]));
    let (_, parts) = send(&edge, "GET", "/long", "Range: bytes=0-1,5-6\r\n");
    assert!(parts.status == 206 && parts.header("content-type").unwrap().starts_with("multipart/byteranges"));
    for (range, status) in [
        ("bytes=900000-", 416),
        ("bytes=9-5", 416),
        ("lines=1-2", 200),
        // More parts than anybody needs are the whole.
        (&format!("bytes={}", ["0-"; 9].join(",")), 200),
    ] {
        let (word, answer) = send(&edge, "GET", "/long", &format!("Range: {range}\r\n"));
        assert_eq!((word.as_str(), answer.status), ("HIT", status), "{range}");
        assert!(status != 200 || answer.body == whole.body, "{range}");
    }
    let (word, head) = send(&edge, "HEAD", "/long", "");
    let length = whole.body.len().to_string();
    assert_eq!((word.as_str(), head.header("content-length")), ("HIT", Some(length.as_str())));
    assert!(origin.requests().is_empty(), "all of these are answered from what is kept");

    // The origin's validator is asked with, and the client's is answered.
    assert_eq!(get(&edge, "/etag", "").0, "MISS");
    let (word, answer) = send(&edge, "GET", "/etag", "If-None-Match: \"a\"\r\n");
    assert_eq!((word.as_str(), answer.status, answer.body.len()), ("REVALIDATED", 304, 0));
    let (word, answer) = send(&edge, "GET", "/etag", "If-None-Match: \"z\"\r\n");
    assert_eq!((word.as_str(), answer.status, answer.body.is_empty()), ("REVALIDATED", 200, false));
    assert_eq!(origin.last().header("if-none-match"), Some("\"a\""));
}

#[test]
fn a_refusal_of_a_kept_head_is_an_answer_of_ours() {
    let origin = origin();
    let folder = tempfile::tempdir().unwrap();
    let rule = "SecRule RESPONSE_HEADERS:cache-tag \"@contains blue\" \"id:1,phase:3,deny,status:451\"\n\
         SecResponseBodyAccess On\nSecRule RESPONSE_BODY \"@contains SQL syntax\" \"id:2,phase:4,deny\"\n";
    std::fs::write(folder.path().join("own.conf"), rule).unwrap();
    let before = "[rules]\nowasp = [\"own.conf\"]\n";
    let of = |settings: &str| format!("{before}{}", conf(&origin, settings));
    let waf = "[zones.waf]\nresponse_rules = true\n[zones.cache]\n[zones.sensitive_data]\n";
    // Without rules over responses it is kept; with them it is refused, though it is kept.
    let mut edge = Edge::start_in(folder, &of("[zones.waf]\n[zones.cache]\n"), &[]);
    assert_eq!((get(&edge, "/card", "").0, get(&edge, "/leak", "").0), ("MISS".into(), "MISS".into()));
    assert_eq!(twice(&edge, "/tagged", ""), ("MISS".into(), "HIT".into(), true));
    edge.rewrite(&of(waf));
    edge.signal("HUP");
    wait_for("the new rules", || (send(&edge, "GET", "/tagged", "").1.status != 200).then_some(()));
    // Rules over bodies of responses: the client gets nothing of what they refuse, kept or not.
    for _ in 0..3 {
        let mut client = Client::connect(edge.proxy[0]);
        let answer = client.send("GET /leak HTTP/1.1\r\nHost: a.example\r\n\r\n").receive_all();
        assert!(!String::from_utf8_lossy(&answer).contains("SQL"), "{}", String::from_utf8_lossy(&answer));
    }
    // And it is scanned, though its origin sent it before the zone asked for scans.
    assert_eq!(get(&edge, "/card", "").0, "HIT");
    edge.wait_for_event("sensitive_data", |event| event["ClientRequestPath"] == "/card");
    let mut client = Client::connect(edge.proxy[0]);
    for _ in 0..3 {
        let answer = client.send("GET /tagged HTTP/1.1\r\nHost: a.example\r\n\r\n").receive().unwrap();
        assert_eq!((answer.status, answer.header("svc-ray").is_some()), (451, true));
        assert!(answer.text().contains("ray"), "{}", answer.text());
        if answer.header("connection").is_some_and(|value| value == "close") {
            client = Client::connect(edge.proxy[0]);
        }
    }
}

#[test]
fn what_is_too_old_helps_where_an_origin_fails() {
    let origin = origin();
    let edge = Edge::start(&conf(&origin, CACHE));
    let first = get(&edge, "/old", "").1;
    assert_eq!(get(&edge, "/old", "X-Fail: 1\r\n"), ("STALE".into(), first));
    assert_eq!(get(&edge, "/max?gone", "X-Fail: 1\r\n").0, "MISS");
    let dead = origin_that_dies(&edge, "/old");
    assert_eq!(dead.0, "STALE");
    let is_stale = |event: &&Value| event["CacheCacheStatus"] == "STALE";
    wait_for("both events", || (edge.events().iter().filter(is_stale).count() == 2).then_some(()));
    let is_refused =
        |event: &Value| event["event"] == "request_refused" && event["ClientRequestPath"] == "/old";
    assert!(!edge.events().iter().any(is_refused), "it was answered");
}

/// Asks after the zone's origin was changed for one that is not there.
fn origin_that_dies(edge: &Edge, target: &str) -> (String, String) {
    edge.rewrite(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:1\"]\n\
         [zones.waf]\n[zones.cache]\n",
    );
    edge.signal("HUP");
    wait_for("the origin that is not there", || {
        (send(edge, "GET", "/nothing", "").1.status >= 500).then_some(())
    });
    get(edge, target, "")
}

#[test]
fn a_zone_says_what_is_kept_of_which_its_origin_says_nothing() {
    let origin = origin();
    let ttl = "[zones.waf]\n[zones.cache]\nexpression = 'not starts_with(http.request.uri.path, \"/nothing\")'\nttl = \"10m\"\n";
    let edge = Edge::start(&conf(&origin, ttl));
    assert_eq!(twice(&edge, "/page", ""), ("MISS".into(), "HIT".into(), true));
    assert_eq!(twice(&edge, "/image", "Cookie: a=b\r\n"), ("MISS".into(), "HIT".into(), true));
    // What a client with a cookie gets may be its own.
    assert_eq!(twice(&edge, "/page?mine", "Cookie: a=b\r\n"), ("DYNAMIC".into(), "DYNAMIC".into(), false));
    assert_eq!(twice(&edge, "/private", ""), ("DYNAMIC".into(), "DYNAMIC".into(), false));
    assert_eq!(twice(&edge, "/nothing", ""), (String::new(), String::new(), false));
    for (settings, expected) in [
        ("[zones.cache]\nttl = \"9000h\"\n", "up to a year"),
        ("[zones.cache]\nexpression = \"nonsense\"\n", "nonsense"),
        ("rulesets = [{ phase = \"http_request_cache_settings\", rules = [] }]\n[zones.cache]\n", "keep one"),
        (
            "rulesets = [{ phase = \"http_request_cache_settings\", rules = [{ action = \"set_cache_settings\" }] }]\n",
            "needs `cache`, `edge_ttl`, `browser_ttl` or `cache_key`",
        ),
        (
            "rulesets = [{ phase = \"http_request_cache_settings\", rules = [{ action = \"set_cache_settings\", \
             action_parameters = { edge_ttl = { mode = \"override_origin\" } } }] }]\n",
            "needs `edge_ttl.default`",
        ),
    ] {
        let refused = refused_by_check(&conf(&origin, settings));
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn limits_bound_what_is_kept_and_cut_nothing_off() {
    let origin = origin();
    let limits = "[limits]\ncached_response = \"100KiB\"\ncached_responses = \"1MiB\"\n";
    let edge = Edge::start(&format!("{limits}{}", conf(&origin, CACHE)));
    for target in ["/long", "/chunks"] {
        for _ in 0..2 {
            let (word, answer) = send(&edge, "GET", target, "");
            assert_eq!(word, "MISS", "{target} is too long to be kept");
            assert!(answer.body.len() > LONG);
        }
    }
    for nth in 0..2_000 {
        assert_eq!(get(&edge, &format!("/max?{nth}"), "").0, "MISS");
    }
    let bytes = edge.metric("portcullis_cached_responses_bytes");
    assert!(bytes <= f64::from(1 << 20) && bytes > 500_000.0, "{bytes}");
    assert_eq!(get(&edge, "/max?1999", "").0, "HIT");
    assert_eq!(get(&edge, "/max?0", "").0, "MISS", "the least used went first");
    let off = Edge::start(&format!("[limits]\ncached_responses = \"0\"\n{}", conf(&origin, CACHE)));
    assert_eq!(twice(&off, "/max", "").1, "BYPASS");
}
