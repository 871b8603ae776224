//! `status_code_ttl` and `browser_ttl`: how long the cache and browsers keep a response.

use std::io::Write as _;

use serde_json::json;

use crate::api::{edge as api_edge, zone};
use crate::cache::{conf, get, origin, send};
use crate::support::{Edge, Origin};

fn rule(parameters: &str) -> String {
    format!(
        "rulesets = [{{ phase = \"http_request_cache_settings\", rules = [{{ action = \"set_cache_settings\", expression = \"true\", action_parameters = {{ cache = true, {parameters} }} }}] }}]\n"
    )
}

#[test]
fn a_status_has_a_time_of_its_own() {
    let origin = origin();
    let edge = Edge::start(&conf(
        &origin,
        &rule(
            "edge_ttl = { mode = \"respect_origin\", status_code_ttl = [{ status_code = 404, value = -1 }, \
             { status_code_range = { from = 500 }, value = 600 }, { status_code_range = { to = 299 }, value = 600 }] }",
        ),
    ));
    let words = |target: &str, fields: &str| [get(&edge, target, fields).0, get(&edge, target, fields).0];
    assert_eq!(words("/missing", ""), ["DYNAMIC", "DYNAMIC"], "though its origin says ten minutes");
    assert_eq!(words("/old?1", "x-fail: 1\r\n"), ["MISS", "HIT"], "an error, because the rule says so");
    assert_eq!(get(&edge, "/old?1", "x-fail: 1\r\n").1, "away");
    assert_eq!(words("/private", ""), ["MISS", "HIT"]);
    // Whatever is said of a status, these are of one client, or end who knows where.
    for target in ["/cookie", "/by-client", "/close"] {
        assert_eq!(words(target, ""), ["DYNAMIC", "DYNAMIC"], "{target}");
    }
}

#[test]
fn browsers_are_told_of_what_is_kept_and_of_nothing_else() {
    let origin = origin();
    let control = |edge: &Edge, target: &str, fields: &str| {
        let (word, answer) = send(edge, "GET", target, fields);
        (word, answer.header("cache-control").map(str::to_owned))
    };
    for (mode, kept, unsaid) in [
        ("respect_origin", Some("max-age=600"), None),
        ("bypass_by_default", Some("max-age=600"), Some("no-store")),
        ("bypass", Some("no-store"), Some("no-store")),
        ("override_origin", Some("max-age=5"), Some("max-age=5")),
    ] {
        let parameters = format!(
            "browser_ttl = {{ mode = \"{mode}\", default = 5 }}, edge_ttl = {{ mode = \"respect_origin\", default = 60 }}"
        );
        let edge = Edge::start(&conf(&origin, &rule(&parameters)));
        for word in ["MISS", "HIT"] {
            let told = |text: Option<&str>| (word.to_owned(), text.map(str::to_owned));
            assert_eq!(control(&edge, "/x", ""), told(kept), "{mode}");
            assert_eq!(control(&edge, "/nothing", ""), told(unsaid), "{mode}");
        }
        // What is not kept here is up to its origin.
        let private = Some("private, max-age=600".to_owned());
        assert_eq!(control(&edge, "/private", ""), ("DYNAMIC".to_owned(), private), "{mode}");
        let (word, told) = control(&edge, "/x", "authorization: Basic YTpi\r\n");
        assert_eq!((word.as_str(), told.as_deref()), ("BYPASS", Some("max-age=600")), "{mode}");
    }
}

/// An origin whose response may not be kept any more when it is asked whether it has changed.
#[test]
fn browsers_are_not_told_to_keep_what_may_be_kept_no_more() {
    let origin = Origin::start(|request, stream| {
        let answer = match request.header("if-none-match") {
            Some(_) => "HTTP/1.1 304 X\r\netag: \"a\"\r\ncache-control: no-store\r\n\r\n",
            None => "HTTP/1.1 200 X\r\netag: \"a\"\r\ncache-control: max-age=0\r\ncontent-length: 1\r\n\r\nx",
        };
        stream.write_all(answer.as_bytes()).is_ok()
    });
    let edge =
        Edge::start(&conf(&origin, &rule("browser_ttl = { mode = \"override_origin\", default = 500 }")));
    let (first, answer) = send(&edge, "GET", "/", "");
    assert_eq!((first.as_str(), answer.header("cache-control")), ("MISS", Some("max-age=500")));
    let (second, answer) = send(&edge, "GET", "/", "");
    assert_eq!((second.as_str(), answer.text().as_str()), ("REVALIDATED", "x"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn the_api_takes_what_files_take() {
    let origin = origin();
    let (edge, api) = api_edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let path = format!("/zones/{id}/rulesets/phases/http_request_cache_settings/entrypoint");
    let with = |parameters: &serde_json::Value| json!({"rules": [{"action": "set_cache_settings", "expression": "true", "action_parameters": parameters}]});
    let sound = json!({"cache": true, "browser_ttl": {"mode": "override_origin", "default": 7},
        "edge_ttl": {"mode": "respect_origin", "status_code_ttl": [{"status_code": 404, "value": 60},
            {"status_code_range": {"from": 500, "to": 599}, "value": -1}]}});
    let put = api.result("PUT", &path, &with(&sound));
    assert_eq!(put["rules"][0]["action_parameters"], sound);
    let (word, answer) = send(&edge, "GET", "/missing", "");
    assert_eq!((word.as_str(), answer.header("cache-control")), ("MISS", Some("max-age=7")));
    let ttl = |entry: serde_json::Value| json!({"edge_ttl": {"mode": "respect_origin", "status_code_ttl": [entry]}});
    for bad in [
        json!({"browser_ttl": {"mode": "override_origin"}}),
        json!({"browser_ttl": {"mode": "sometimes", "default": 1}}),
        json!({"browser_ttl": {"mode": "override_origin", "default": -1}}),
        ttl(json!({"status_code": 404})),
        ttl(json!({"status_code": 99, "value": 1})),
        ttl(json!({"value": 1})),
        ttl(json!({"status_code": 404, "status_code_range": {"from": 1}, "value": 1})),
        ttl(json!({"status_code_range": {}, "value": 1})),
        ttl(json!({"status_code_range": {"from": 500, "to": 400}, "value": 1})),
        ttl(json!({"status_code": 404, "value": -2})),
        ttl(json!({"status_code": 404, "value": 31_536_001})),
    ] {
        let (status, answer) = api.call("PUT", &path, &with(&bad));
        assert_eq!(status, 400, "{bad}");
        let pointer = answer["errors"][0]["source"]["pointer"].as_str().unwrap_or("");
        assert!(pointer.starts_with("/rules/0/action_parameters"), "{bad}: {answer}");
    }
}
