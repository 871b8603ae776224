//! Rules that ask for the body of a request, and for what managed rules found.

use serde_json::{Value, json};

use crate::api::{REQUESTS, edge, execute, managed, zone};
use crate::listener::tls_listener;
use crate::support::{Api, Client, Edge, Origin, certificate, curl, gzip, refused_by_check};

const CUSTOM: &str = "http_request_firewall_custom";

fn put(api: &Api, owner: &str, phase: &str, rules: &Value) {
    api.result("PUT", &format!("{owner}/rulesets/phases/{phase}/entrypoint"), &json!({"rules": rules}));
}

fn post(edge: &Edge, fields: &str, body: &[u8]) -> u16 {
    let head = format!("POST /a HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n{fields}");
    let mut request = format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    request.extend_from_slice(body);
    Client::once(edge.proxy[0], request).status
}

fn chunked(edge: &Edge, pieces: &[&[u8]]) -> u16 {
    let mut client = Client::connect(edge.proxy[0]);
    client.send("POST /a HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n");
    for piece in pieces {
        client.send(format!("{:x}\r\n", piece.len())).send(piece).send("\r\n");
    }
    client.send("0\r\n\r\n").receive().unwrap().status
}

#[test]
fn bodies_are_seen_however_they_come_and_go_on_untouched() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let owner = format!("/zones/{}", zone(&api, "a.example", &origin));
    let block = |expression: &str| json!({"action": "block", "expression": expression});
    put(
        &api,
        &owner,
        CUSTOM,
        &json!([
            block("http.request.body.raw contains \"svc-bad\""),
            block("any(http.request.body.form[\"user\"][*] eq \"root\")"),
            block("any(http.request.body.json[\"/user/name\"][*] eq \"root\")"),
            block("any(http.request.body.multipart[\"user\"][*] eq \"root\")"),
        ]),
    );
    let long = |text: &str, before: usize| [vec![b'x'; before], text.as_bytes().to_vec()].concat();
    for size in [0, 1, 4095, 4096, 70_000, 1 << 20] {
        assert_eq!(post(&edge, "", &long("svc-bad", size)), 403, "{size}");
        // What shrinks a thousandfold is refused as it is.
        let packed = if size == 1 << 20 { 415 } else { 403 };
        let status = post(&edge, "Content-Encoding: gzip\r\n", &gzip(long("svc-bad", size)));
        assert_eq!(status, packed, "{size}");
        let body = long("svc-bad", size);
        let (one, two) = body.split_at(body.len() - 3);
        assert_eq!(chunked(&edge, &[one, two]), 403, "{size}");
        assert_eq!(post(&edge, "Expect: 100-continue\r\n", &body), 403, "{size}");
    }
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let parts = "Content-Type: multipart/form-data; boundary=b\r\n";
    let part = |value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\n{value}\r\n--b--\r\n")
    };
    for (fields, body, status) in [
        (form, "user=me&user=ro%6ft".to_owned(), 403),
        ("Content-Type: text/plain\r\n", "user=root".to_owned(), 403),
        (form, "user=me".to_owned(), 200),
        (
            "Content-Type: application/json\r\n",
            r#"{"user":{"name":"r\u006fot","name":"me"}}"#.to_owned(),
            403,
        ),
        ("", r#"{"user":{"name":"root"}, "#.to_owned(), 403),
        ("", r#"{"user":{"name":"me"}}"#.to_owned(), 200),
        (parts, part("root"), 403),
        (parts, part("me"), 200),
    ] {
        assert_eq!(post(&edge, fields, body.as_bytes()), status, "{fields} {body}");
    }
    // Nothing of what is blocked has left; the rest goes on as it came.
    assert_eq!(origin.requests().len(), 3);
    for body in [long("fine", 100_000), gzip(long("fine", 5000))] {
        let fields = if body.starts_with(&[0x1f]) { "Content-Encoding: gzip\r\n" } else { "" };
        assert_eq!(post(&edge, fields, &body), 200);
        assert!(origin.last().body == body);
    }
    assert_eq!(Client::get(edge.proxy[0], "a.example", "/").status, 200, "without a body");
    // A rule of the head that comes first needs no body.
    put(&api, "/accounts/acme", CUSTOM, &json!([block("http.request.uri.path eq \"/a\"")]));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("POST /a HTTP/1.1\r\nHost: a.example\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
    assert!(matches!(client.head().unwrap().status, 100 | 403));
}

#[test]
fn whether_managed_rules_run_can_depend_on_a_long_body() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let owner = format!("/zones/{}", zone(&api, "a.example", &origin));
    let mut only = execute(&managed(&api, REQUESTS));
    only["expression"] = json!("http.request.body.raw contains \"judge me\"");
    put(&api, &owner, REQUESTS, &json!([only]));
    let attack = |mark: &str, before: usize| {
        let text = format!("{}&{mark}&q=1' UNION SELECT password FROM users--", "x".repeat(before));
        post(&edge, "Content-Type: application/x-www-form-urlencoded\r\n", text.as_bytes())
    };
    for size in [0, 10_000, 100_000, 1 << 20] {
        assert_eq!((attack("judge me", size), attack("let me", size)), (403, 200), "{size}");
    }
}

#[test]
fn what_is_counted_can_be_a_part_of_the_body() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let owner = format!("/zones/{}", zone(&api, "a.example", &origin));
    let limit = json!({"characteristics": ["lookup_json_string(http.request.body.raw, \"user\")"],
        "period": 60, "requests_per_period": 2, "mitigation_timeout": 60});
    put(
        &api,
        &owner,
        "http_ratelimit",
        &json!([{"action": "block", "expression": "true", "ratelimit": limit}]),
    );
    let login = |user: &str| post(&edge, "", format!("{{\"user\":\"{user}\"}}").as_bytes());
    assert_eq!([login("a"), login("b"), login("a"), login("a"), login("b")], [200, 200, 200, 429, 200]);
}

#[test]
fn bodies_that_are_too_long_are_refused_or_said_to_be_cut() {
    let origin = Origin::echo();
    let conf = |policy: &str| {
        format!(
            "[[listeners]]\naddress = \"127.0.0.1:0\"\n[limits]\ninspected_body = \"1KB\"\n{policy}\
             [[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[[zones.rulesets]]\nphase = \"{CUSTOM}\"\n\
             [[zones.rulesets.rules]]\naction = \"block\"\n\
             expression = 'http.request.body.truncated and http.request.uri.query eq \"strict\"'\n\
             [[zones.rulesets.rules]]\naction = \"block\"\nexpression = 'http.request.body.raw contains \"bad\"'\n",
            origin.url()
        )
    };
    let strict = Edge::start(&conf(""));
    assert_eq!((post(&strict, "", &[b'x'; 1000]), post(&strict, "", &[b'x'; 2000])), (200, 413));
    assert_eq!(post(&strict, "Content-Encoding: x-own\r\n", b"bad"), 415);
    let lenient = Edge::start(&conf("inspected_body_policy = \"pass\"\n"));
    assert_eq!(post(&lenient, "", &[b'x'; 2000]), 200);
    assert_eq!(origin.last().body.len(), 2000);
    assert_eq!(post(&lenient, "", &[&b"bad"[..], &[b'x'; 2000]].concat()), 403);
    let head = "POST /?strict HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n";
    let long = format!("{head}Content-Length: 2000\r\n\r\n{}", "x".repeat(2000));
    assert_eq!(Client::once(lenient.proxy[0], long).status, 403);
}

#[test]
fn bodies_over_http_2_and_scores_are_known_to_rules() {
    let (origin, folder) = (Origin::echo(), tempfile::tempdir().unwrap());
    certificate(folder.path(), "c", &["a.example"]);
    let rules = format!(
        "rulesets = [{{ phase = \"{CUSTOM}\", rules = [{{ action = \"block\", \
         expression = 'http.request.body.raw contains \"svc-bad\"' }}] }}]\n"
    );
    let zone_of =
        |rules: &str| format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{rules}", origin.url());
    let over_tls = Edge::start_in(folder, &format!("{}{}", tls_listener(&["c"]), zone_of(&rules)), &[]);
    let port = over_tls.proxy[0].port();
    let (url, resolve) = (format!("https://a.example:{port}/"), format!("a.example:{port}:127.0.0.1"));
    for (body, status) in [("svc-bad", 403), ("fine", 200)] {
        let (got, _) = curl(&["-sk", "--http2", "--resolve", &resolve, "-d", body, &url]);
        assert_eq!(got, status, "{body}");
    }
    for (phase, action, words) in [
        ("http_response_firewall_managed", "skip", "in the phases of a request only"),
        ("http_request_origin", "route", ""),
    ] {
        let rules = rules.replace(CUSTOM, phase).replace("block", action);
        let refused = refused_by_check(&zone_of(&rules));
        assert!(refused.contains(words), "{refused}");
    }
    // The score goes to the origin, of what was let go on.
    let (edge, api) = edge(&origin);
    let owner = format!("/zones/{}", zone(&api, "a.example", &origin));
    let id = managed(&api, REQUESTS);
    let mut log = execute(&id);
    let threshold =
        api.get(&format!("{owner}/rulesets/{id}"))["rules"].as_array().unwrap().last().unwrap()["id"].clone();
    log["action_parameters"]["overrides"] = json!({"rules": [{"id": threshold, "action": "log"}]});
    put(&api, &owner, REQUESTS, &json!([log]));
    let score = json!({"headers": {"x-score": {"operation": "set", "expression": "to_string(waf.score)"}}});
    let above = json!({"headers": {"x-above": {"operation": "set", "value": "yes"}}});
    let kinds = json!({"headers": {"x-kinds": {"operation": "set",
        "expression": "concat(to_string(waf.score.sqli), \" \", to_string(waf.score.xss), \" \", to_string(waf.score.rce))"}}});
    put(
        &api,
        &owner,
        "http_request_late_transform",
        &json!([{"action": "rewrite", "expression": "true", "action_parameters": score},
            {"action": "rewrite", "expression": "waf.score ge 5", "action_parameters": above},
            {"action": "rewrite", "expression": "true", "action_parameters": kinds}]),
    );
    assert_eq!(post(&edge, "", b"fine"), 200);
    let score = || origin.last().header("x-score").unwrap().parse::<u32>().unwrap();
    assert!(score() < 5 && origin.last().header("x-above").is_none());
    assert_eq!(
        Client::get(edge.proxy[0], "a.example", "/?q=1'%20UNION%20SELECT%20a%20FROM%20b--").status,
        200
    );
    assert!(score() >= 5 && origin.last().header("x-above") == Some("yes"));
    // How much of it is of which kind of attack.
    let kinds = |target: &str| {
        Client::get(edge.proxy[0], "a.example", target);
        let kinds = origin.last().header("x-kinds").unwrap().to_owned();
        kinds.split(' ').map(|score| score.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    let [sql, markup] =
        ["/?q=1'%20UNION%20SELECT%20a%20FROM%20b--", "/?q=%3Cscript%3Ealert(1)%3C/script%3E"].map(kinds);
    assert!(sql[0] >= 5 && sql[0] > sql[1] && markup[1] >= 5 && markup[1] > markup[0], "{sql:?} {markup:?}");
    assert_eq!(kinds("/"), [0, 0, 0]);
}
