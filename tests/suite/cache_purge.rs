//! Kept responses that are dropped before their time, and by whom.

use std::io::Write;

use serde_json::{Value, json};

use crate::api::{edge as api_edge, zone};
use crate::cache::{KEPT, get, origin};
use crate::support::{Api, Client, Origin, wait_for};

#[test]
fn kept_responses_are_dropped_over_the_api() {
    let origin = origin();
    let (edge, api) = api_edge(&origin);
    let (id, other) = (zone(&api, "a.example", &origin), zone(&api, "b.example", &origin));
    let rule = json!({"action": "set_cache_settings", "expression": "true",
        "action_parameters": {"cache": true, "edge_ttl": {"mode": "override_origin", "default": 600}}});
    let path = "rulesets/phases/http_request_cache_settings/entrypoint";
    for zone in [&id, &other] {
        let put = api.result("PUT", &format!("/zones/{zone}/{path}"), &json!({"rules": [rule]}));
        assert_eq!(put["rules"][0]["action_parameters"], rule["action_parameters"]);
    }
    for (mode, code) in
        [(json!({"mode": "sometimes"}), 400), (json!({"mode": "respect_origin", "default": -1}), 400)]
    {
        let bad = json!({"rules": [{"action": "set_cache_settings", "expression": "true", "action_parameters": {"edge_ttl": mode}}]});
        assert_eq!(api.call("PUT", &format!("/zones/{id}/{path}"), &bad).0, code);
    }
    let purge = |body: Value| api.result("POST", &format!("/zones/{id}/purge_cache"), &body);
    let targets = ["/x/1", "/x/2?a=b", "/tagged", "/nothing"];
    let fill = || targets.map(|target| get(&edge, target, "").0);
    fill();
    assert_eq!(fill(), ["HIT"; 4]);
    for (body, expected) in [
        (json!({"files": ["http://a.example/x/1"]}), ["MISS", "HIT", "HIT", "HIT"]),
        (
            json!({"files": [{"url": "http://A.example/x/2?a=b", "headers": {}}]}),
            ["HIT", "MISS", "HIT", "HIT"],
        ),
        (json!({"files": ["https://a.example/x/1", "http://a.example/x/2"]}), ["HIT"; 4]),
        (json!({"prefixes": ["a.example/x/"]}), ["MISS", "MISS", "HIT", "HIT"]),
        (json!({"tags": ["GREEN"]}), ["HIT", "HIT", "MISS", "HIT"]),
        (json!({"hosts": ["b.example"]}), ["HIT"; 4]),
        (json!({"hosts": ["a.example"]}), ["MISS"; 4]),
        (json!({"purge_everything": true}), ["MISS"; 4]),
    ] {
        assert_eq!(purge(body.clone()), json!({"id": id}));
        assert_eq!(fill(), expected, "{body}");
    }
    // Another zone drops nothing here.
    api.result(
        "POST",
        &format!("/zones/{other}/purge_cache"),
        &json!({"purge_everything": true, "hosts": ["a.example"]}),
    );
    assert_eq!(fill(), ["HIT"; 4]);
    for bad in [
        json!({}),
        json!({"purge_everything": false}),
        json!({"files": ["/x/1"]}),
        json!({"files": [7]}),
        json!({"prefixes": ["http://a.example/"]}),
        json!({"hosts": "a.example"}),
        json!({"tags": vec!["a"; 501]}),
    ] {
        let (status, answer) = api.call("POST", &format!("/zones/{id}/purge_cache"), &bad);
        assert_eq!(status, 400, "{bad} {answer}");
    }
    assert_eq!(fill(), ["HIT"; 4], "what is refused drops nothing");
    let is_it = |event: &Value| event["event"] == "cache_purged" && event["everything"] == true;
    let told = wait_for("the event", || edge.events().into_iter().find(is_it));
    assert_eq!((&told["zone"], &told["responses"]), (&json!("a.example"), &json!(4)));
    // Only who may.
    assert_eq!(
        Api::new(&edge, "")
            .call("POST", &format!("/zones/{id}/purge_cache"), &json!({"purge_everything": true}))
            .0,
        403
    );
    assert_eq!(fill(), ["HIT"; 4]);
}

#[test]
fn what_was_asked_for_before_a_purge_is_not_kept_after_it() {
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let origin = Origin::start(move |request, stream| {
        if request.path() == "/slow" && request.header("x-wait").is_some() {
            let _ = gate.lock().unwrap().recv();
        }
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{KEPT}content-length: 2\r\n\r\nok").as_bytes()).is_ok()
    });
    let (edge, api) = api_edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let rule =
        json!({"action": "set_cache_settings", "expression": "true", "action_parameters": {"cache": true}});
    let path = format!("/zones/{id}/rulesets/phases/http_request_cache_settings/entrypoint");
    api.result("PUT", &path, &json!({"rules": [rule]}));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET /slow HTTP/1.1\r\nHost: a.example\r\nX-Wait: 1\r\n\r\n");
    wait_for("the origin", || (!origin.requests().is_empty()).then_some(()));
    api.post(&format!("/zones/{id}/purge_cache"), &json!({"purge_everything": true}));
    go.send(()).unwrap();
    assert_eq!(client.receive().unwrap().header("svc-cache-status"), Some("MISS"));
    assert_eq!((get(&edge, "/slow", "").0, get(&edge, "/slow", "").0), ("MISS".into(), "HIT".into()));
}
