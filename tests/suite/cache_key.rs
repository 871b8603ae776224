//! `cache_key`: which requests a kept response is for, as the owner of a zone says.

use serde_json::{Value, json};

use crate::api::{edge as api_edge, zone};
use crate::cache::{conf, get, origin, send};
use crate::support::{Edge, Origin, refused_by_check, wait_for};

fn rule(cache_key: &str) -> String {
    format!(
        "rulesets = [{{ phase = \"http_request_cache_settings\", rules = [{{ action = \"set_cache_settings\", expression = \"true\", action_parameters = {{ cache = true, cache_key = {{ {cache_key} }} }} }}] }}]\n[zones.waf]\n"
    )
}

/// The words of the answers to requests, each a target and fields.
fn words(edge: &Edge, requests: &[(&str, &str)]) -> Vec<String> {
    requests.iter().map(|(target, fields)| get(edge, target, fields).0).collect()
}

#[test]
fn parameters_that_do_not_count_make_no_other_response() {
    let origin = origin();
    let key = "custom_key = { query_string = { exclude = { list = [\"utm_source\", \"fbclid\"] } } }";
    let edge = Edge::start(&conf(&origin, &rule(key)));
    let found = words(
        &edge,
        &[
            ("/a?id=1", ""),
            ("/a?id=1&utm_source=mail", ""),
            ("/a?utm%5Fsource=x&id=1&fbclid=1", ""),
            ("/a?id=2&utm_source=mail", ""),
            // Some frameworks read two parameters here.
            ("/a?id=1&utm_source=x;id=2", ""),
            ("/a?utm_source=mail", ""),
            ("/a", ""),
        ],
    );
    assert_eq!(found, ["MISS", "HIT", "HIT", "MISS", "MISS", "MISS", "HIT"]);
    // The origin hears of all of them.
    let asked: Vec<String> = origin.requests().iter().map(|request| request.path().to_owned()).collect();
    assert_eq!(
        asked,
        ["/a?id=1", "/a?id=2&utm_source=mail", "/a?id=1&utm_source=x;id=2", "/a?utm_source=mail"]
    );
    // Rules judge what does not count, too.
    assert_eq!(send(&edge, "GET", "/a?id=1&utm_source=<script>alert(1)</script>", "").1.status, 403);
    // What is kept for one client is no other's for a parameter.
    assert_eq!(words(&edge, &[("/a?id=1", "Authorization: Basic YTpi\r\n")]), ["BYPASS"]);
}

#[test]
fn only_named_parameters_count_in_any_order() {
    let origin = origin();
    let key = "ignore_query_strings_order = true, custom_key = { query_string = { include = { list = [\"id\", \"page\"] } } }";
    let edge = Edge::start(&conf(&origin, &rule(key)));
    let requests = [
        ("/a?id=1&page=2", ""),
        ("/a?x=1&page=2&id=1", ""),
        ("/a?page=1&id=2", ""),
        ("/a?id=1&page=2&id=3", ""),
    ];
    assert_eq!(words(&edge, &requests), ["MISS", "HIT", "MISS", "MISS"]);
}

#[test]
fn fields_and_cookies_of_a_rule_tell_responses_apart() {
    let origin = origin();
    let key = "custom_key = { header = { include = [\"X-Plan\"], check_presence = [\"x-beta\"], contains = { accept = [\"image/avif\"] }, exclude_origin = true }, cookie = { include = [\"theme\"] }, user = { lang = true } }";
    let edge = Edge::start(&conf(&origin, &rule(key)));
    for (one, other, second) in [
        ("x-plan: a\r\n", "x-plan: b\r\n", "MISS"),
        ("x-beta: a\r\n", "x-beta: b\r\n", "HIT"),
        ("accept: image/avif\r\n", "accept: text/html\r\n", "MISS"),
        ("origin: https://a.example\r\n", "origin: https://b.example\r\n", "HIT"),
        ("cookie: theme=dark; id=1\r\n", "cookie: id=2; theme=dark\r\n", "HIT"),
        ("cookie: theme=dark\r\n", "cookie: theme=light\r\n", "MISS"),
        ("accept-language: de-DE,en\r\n", "accept-language: DE-de;q=0.5\r\n", "HIT"),
        ("accept-language: fr\r\n", "accept-language: it\r\n", "MISS"),
        // By these origins choose an answer, whatever a rule says.
        ("x-forwarded-scheme: http\r\n", "x-forwarded-scheme: https\r\n", "MISS"),
    ] {
        let target = format!("/a?{}", one.len() * 1000 + other.len());
        assert_eq!(words(&edge, &[(&target, one), (&target, other)]), ["MISS", second], "{one} {other}");
    }
}

#[test]
fn each_kind_of_device_has_its_own_response_and_the_origin_is_told_which() {
    // The origin answers with what the field `svc-device-type` of its request says.
    let origin = Origin::start(|request, stream| {
        let device = request.header("svc-device-type").unwrap_or("none").to_owned();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\ncontent-length: {}\r\n\r\n{device}",
            device.len()
        );
        std::io::Write::write_all(stream, head.as_bytes()).is_ok()
    });
    let phone = "user-agent: A (iPhone) Mobile/1\r\n";
    let pad = "user-agent: A (iPad) Mobile/1\r\n";
    // Who says what it is, is not believed.
    let liar = "user-agent: curl\r\nsvc-device-type: mobile\r\nsvc_device_type: mobile\r\n";
    for key in ["cache_by_device_type = true", "custom_key = { user = { device_type = true } }"] {
        let edge = Edge::start(&conf(&origin, &rule(key)));
        let found: Vec<(String, String)> =
            [phone, pad, liar, phone, "user-agent: B (Android 15) Mobile\r\n", ""]
                .map(|fields| send(&edge, "GET", "/a", fields))
                .into_iter()
                .map(|(word, response)| (word, response.text()))
                .collect();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(word, text)| (word.as_str(), text.as_str())).collect();
        let expected = [
            ("MISS", "mobile"),
            ("MISS", "tablet"),
            ("MISS", "desktop"),
            ("HIT", "mobile"),
            ("HIT", "mobile"),
            ("HIT", "desktop"),
        ];
        assert_eq!(found, expected, "{key}");
        // An origin may go by the second field where the edge names the first.
        let both = "user-agent: A\r\nuser-agent: B (iPhone)\r\n";
        assert_eq!(
            words(&edge, &[("/b", both), ("/b", "user-agent: A\r\n"), ("/b", both)]),
            ["MISS", "MISS", "HIT"]
        );
    }
    // Without the rule all have one.
    let edge = Edge::start(&conf(&origin, &rule("cache_by_device_type = false")));
    assert_eq!(words(&edge, &[("/a", phone), ("/a", pad)]), ["MISS", "HIT"]);
}

#[test]
fn with_the_armor_only_what_a_url_says_is_kept() {
    // As an origin that ignores what stands behind a page's path.
    let origin = Origin::start(|request, stream| {
        let kind = if request.path().starts_with("/files/") { "text/css" } else { "text/html" };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncache-control: max-age=60\r\ncontent-length: 4\r\n\r\nmine"
        );
        std::io::Write::write_all(stream, head.as_bytes()).is_ok()
    });
    let armored = Edge::start(&conf(&origin, &rule("cache_deception_armor = true")));
    for target in [
        "/account/x.css",
        "/account;x.css",
        "/account%2Fx.css",
        "/account/x.CSS?a=1",
        "/account/x.js%0a",
        "/account/x.jpg",
    ] {
        let found = words(&armored, &[(target, ""), (target, "")]);
        assert!(!found.contains(&"HIT".to_owned()), "{target}: {found:?}");
    }
    for target in ["/files/a.css", "/account", "/account.html"] {
        assert_eq!(words(&armored, &[(target, ""), (target, "")]), ["MISS", "HIT"], "{target}");
    }
    let plain = Edge::start(&conf(&origin, &rule("cache_deception_armor = false")));
    assert_eq!(words(&plain, &[("/account/x.css", ""), ("/account/x.css", "")]), ["MISS", "HIT"]);
    // What was kept before there was an armor is not given out with it.
    plain.rewrite(&conf(&origin, &rule("cache_deception_armor = true")));
    wait_for("the armor", || {
        (words(&plain, &[("/account/x.css", ""), ("/account/x.css", "")])[1] != "HIT").then_some(())
    });
}

#[test]
fn a_response_is_dropped_by_the_target_that_counts() {
    let origin = origin();
    let (edge, api) = api_edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let path = format!("/zones/{id}/rulesets/phases/http_request_cache_settings/entrypoint");
    let with = |cache_key: &Value| json!({"rules": [{"action": "set_cache_settings", "expression": "true", "action_parameters": {"cache": true, "cache_key": cache_key}}]});
    let sound = json!({"ignore_query_strings_order": true, "custom_key": {
        "query_string": {"exclude": {"list": ["utm_source"]}},
        "header": {"include": ["x-plan"], "contains": {"accept": ["image/webp"]}, "exclude_origin": false},
        "cookie": {"check_presence": ["session"]}, "user": {"device_type": false, "geo": true}, "host": {"resolved": false}}});
    let put = api.result("PUT", &path, &with(&sound));
    assert_eq!(put["rules"][0]["action_parameters"]["cache_key"], sound);
    assert_eq!(words(&edge, &[("/a?b=1&utm_source=x&a=2", ""), ("/a?a=2&b=1", "")]), ["MISS", "HIT"]);
    api.post(&format!("/zones/{id}/purge_cache"), &json!({"files": ["http://a.example/a?a=2&b=1"]}));
    assert_eq!(words(&edge, &[("/a?a=2&b=1&utm_source=y", "")]), ["MISS"]);
    for (bad, at) in [
        (
            json!({"custom_key": {"query_string": {"include": {"all": true}, "exclude": {"all": true}}}}),
            "/query_string",
        ),
        (json!({"custom_key": {"query_string": {"include": {}}}}), "/query_string/include"),
        (
            json!({"custom_key": {"query_string": {"exclude": {"all": true, "list": ["a"]}}}}),
            "/query_string/exclude",
        ),
        (json!({"custom_key": {"query_string": {"exclude": {"list": [""]}}}}), "/query_string/exclude/list"),
        (json!({"custom_key": {"header": {"include": ["Cookie"]}}}), "/header/include"),
        (json!({"custom_key": {"header": {"include": ["a b"]}}}), "/header/include"),
        (json!({"custom_key": {"header": {"contains": {"accept": []}}}}), "/header/contains/accept"),
        (json!({"custom_key": {"cookie": {"include": ["a=b"]}}}), "/cookie/include"),
        (json!({"custom_key": {"cookie": {"include": vec!["a"; 51]}}}), "/cookie/include"),
        (json!({"custom_key": {"host": {"resolved": true}}}), "/host/resolved"),
        (json!({"custom_key": {"query_string": {"includes": {"all": true}}}}), "/cache_key"),
        (json!({"custom_key": {"header": "x-plan"}}), "/cache_key"),
    ] {
        let (status, answer) = api.call("PUT", &path, &with(&bad));
        let pointer = answer["errors"][0]["source"]["pointer"].as_str().unwrap_or("");
        assert_eq!(status, 400, "{bad}: {answer}");
        assert!(
            pointer.starts_with("/rules/0/action_parameters/cache_key") && pointer.ends_with(at),
            "{bad}: {answer}"
        );
    }
    let file = |key: &str| refused_by_check(&conf(&origin, &rule(key)));
    assert!(file("custom_key = { host = { resolved = true } }").contains("leave `resolved` out"));
    assert!(file("custom_key = { path = \"a\" }").contains("path"));
}
