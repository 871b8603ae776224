//! Rules that limit rates: what they count, by what, and what becomes of requests past them.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::api::{TOKEN, edge, zone};
use crate::listener::tls_listener;
use crate::support::{Api, Client, Edge, Origin, Response, certificate, curl, refused_by_check, wait_for};

const PHASE: &str = "http_ratelimit";

fn entry_point(owner: &str) -> String {
    format!("{owner}/rulesets/phases/{PHASE}/entrypoint")
}

/// A rule that blocks past a limit in a minute.
fn limit(expression: &str, by: &[&str], requests: u64, more: &Value) -> Value {
    let mut rate = json!({"characteristics": by, "period": 60, "requests_per_period": requests, "mitigation_timeout": 0});
    for (name, value) in more.as_object().into_iter().flatten() {
        rate[name] = value.clone();
    }
    json!({"action": "block", "expression": expression, "ratelimit": rate})
}

fn send(edge: &Edge, target: &str, fields: &str) -> Response {
    let head = format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n{fields}Connection: close\r\n\r\n");
    Client::once(edge.proxy[0], head)
}

/// How many of as many requests pass.
fn pass(edge: &Edge, target: &str, fields: &str, requests: usize) -> usize {
    (0..requests).filter(|_| send(edge, target, fields).status == 200).count()
}

#[test]
fn of_200_clients_at_once_exactly_100_pass_also_across_reloads() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let path = entry_point(&format!("/zones/{id}"));
    let rule = limit("true", &["http.host"], 100, &Value::Null);
    let put = api.result("PUT", &path, &json!({"rules": [rule]}));
    assert_eq!(put["rules"][0]["ratelimit"], rule["ratelimit"], "it is shown as it was written");
    let passed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| passed.fetch_add(pass(&edge, "/", "", 10), Ordering::Relaxed));
        }
        // The rule itself is changed meanwhile, and what is beside it.
        scope.spawn(|| {
            for nth in 0..5 {
                let mut named = put["rules"][0].clone();
                named["description"] = json!(format!("change {nth}"));
                api.result("PUT", &path, &json!({"rules": [named]}));
                edge.signal("HUP");
            }
        });
    });
    assert_eq!(passed.into_inner(), 100);
    assert_eq!(origin.requests().len(), 100);
    let refused = send(&edge, "/", "Accept: text/html\r\n");
    let seconds = |name: &str| refused.header(name).unwrap().parse::<u64>().unwrap();
    assert_eq!((refused.status, refused.header("ratelimit-limit")), (429, Some("100")));
    assert_eq!(
        (refused.header("ratelimit-remaining"), seconds("retry-after")),
        (Some("0"), seconds("ratelimit-reset"))
    );
    assert!((1..=61).contains(&seconds("retry-after")), "{}", refused.text());
    assert!(refused.text().contains("too many requests"));
    // A limit that is raised goes on from what was counted.
    let mut raised = put["rules"][0].clone();
    raised["ratelimit"]["requests_per_period"] = json!(110);
    api.result("PUT", &path, &json!({"rules": [raised]}));
    assert_eq!(pass(&edge, "/", "", 15), 10);
    let events = wait_for("the events", || {
        let events = api.get(&format!("/zones/{id}/security/events?source=ratelimit"));
        (!events.as_array().unwrap().is_empty()).then_some(events)
    });
    let event = &events[0];
    assert_eq!((&event["Action"], &event["Service"]), (&json!("block"), &json!("Rate Limiting Rules")));
    assert_eq!((&event["EdgeResponseStatus"], &event["RuleID"]), (&json!(429), &put["rules"][0]["id"]));
    assert!(edge.metrics().contains("reason=\"rate\""));
}

#[test]
fn each_value_has_its_own_counter_and_none_can_pass_for_another() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let by = [
        "http.request.headers[\"x-key\"]",
        "http.request.uri.args[\"u\"][0]",
        "lower(http.request.uri.path)",
    ];
    let rule = limit("starts_with(lower(http.request.uri.path), \"/api\")", &by, 2, &Value::Null);
    api.result("PUT", &entry_point(&format!("/zones/{id}")), &json!({"rules": [rule]}));
    for (target, fields) in [
        ("/api", ""),
        ("/api?u=", ""),
        ("/api", "X-Key: \r\n"),
        ("/api", "X-Key: a\r\n"),
        ("/api", "X-Key: a\r\nX-Key: b\r\n"),
        ("/api", "X-Key: a, b\r\n"),
        ("/api?u=a", ""),
        ("/api?u=%00", ""),
        ("/api/b", ""),
    ] {
        assert_eq!(pass(&edge, target, fields, 4), 2, "{target} {fields:?}");
    }
    // The same value in another form, and what is not asked for.
    for (target, fields) in
        [("/API", ""), ("/api?v=1", ""), ("/api?u=%61", ""), ("/api", "x-KEY:  a\r\n"), ("/x/../api", "")]
    {
        assert_eq!(pass(&edge, target, fields, 2), 0, "{target} {fields:?}");
    }
    assert_eq!(pass(&edge, "/other", "", 5), 5);
}

#[test]
fn what_counts_may_be_told_by_the_answer() {
    // A login that fails, unless the password is right.
    let origin = Origin::start(|request, stream| {
        let status = if request.path().contains("right") { "200 OK" } else { "401 Unauthorized" };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nX-Cost: 40\r\n\r\n");
        std::io::Write::write_all(stream, head.as_bytes()).is_ok()
    });
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let path = entry_point(&format!("/zones/{id}"));
    let failed = "http.response.code eq 401 and starts_with(http.request.uri.path, \"/login\")";
    let logins = limit(
        "starts_with(http.request.uri.path, \"/login\")",
        &["ip.src"],
        3,
        &json!({"counting_expression": failed, "mitigation_timeout": 600}),
    );
    api.result("PUT", &path, &json!({"rules": [logins]}));
    let status = |target: &str| send(&edge, target, "").status;
    for _ in 0..10 {
        assert_eq!((status("/login/right"), status("/other")), (200, 401), "neither counts");
    }
    let tried: Vec<u16> = (0..5).map(|_| status("/login/wrong")).collect();
    assert_eq!(tried, [401, 401, 401, 429, 429]);
    assert_eq!(
        (status("/login/right"), status("/other")),
        (429, 401),
        "shut for all logins, and for nothing else"
    );
    let seconds = send(&edge, "/login/right", "").header("retry-after").unwrap().parse::<u64>().unwrap();
    assert!((590..=600).contains(&seconds), "{seconds}");
    // What answers add up to, and requests that no origin is asked for.
    let costs = json!({"action": "block", "expression": "true", "ratelimit": {
        "characteristics": ["ip.src"], "period": 60, "score_per_period": 100, "score_response_header_name": "x-cost",
    }});
    let blocked = json!({"rules": [costs]});
    api.result("PUT", &path, &blocked);
    let tried: Vec<u16> = (0..5).map(|_| status("/right")).collect();
    assert_eq!(tried, [200, 200, 200, 429, 429]);
    let to_origin = limit("true", &["ip.src"], 3, &json!({"requests_to_origin": true}));
    api.result("PUT", &path, &json!({"rules": [to_origin]}));
    let managed = api.get("/accounts/acme/rulesets");
    let owasp = managed.as_array().unwrap().iter().find(|one| one["phase"] == crate::api::REQUESTS).unwrap();
    let judged = format!("/zones/{id}/rulesets/phases/{}/entrypoint", crate::api::REQUESTS);
    api.result("PUT", &judged, &json!({"rules": [crate::api::execute(owasp["id"].as_str().unwrap())]}));
    let attack = "/right?q=1'%20UNION%20SELECT%20password%20FROM%20users--";
    let tried: Vec<u16> = (0..5).map(|_| status(attack)).collect();
    assert_eq!(tried, [403; 5], "refused before an origin is asked");
    let tried: Vec<u16> = (0..4).map(|_| status("/right")).collect();
    assert_eq!(tried, [200, 200, 200, 429]);
}

#[test]
fn logins_at_the_same_moment_do_not_pass_together() {
    // All of them wait until the test lets them go.
    let (let_go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let origin = Origin::start(move |_, stream| {
        let _ = wait.lock().unwrap().recv();
        std::io::Write::write_all(stream, b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n").is_ok()
    });
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let rule = limit("true", &["ip.src"], 3, &json!({"counting_expression": "http.response.code eq 401"}));
    api.result("PUT", &entry_point(&format!("/zones/{id}")), &json!({"rules": [rule]}));
    let answers = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..20).map(|_| scope.spawn(|| send(&edge, "/", "").status)).collect();
        wait_for("all but three to be refused", || {
            (edge.metrics().lines().any(|line| line.contains("reason=\"rate\"") && line.ends_with(" 17")))
                .then_some(())
        });
        (0..3).for_each(|_| let_go.send(()).unwrap());
        clients.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(answers.iter().filter(|status| **status == 401).count(), 3, "{answers:?}");
    assert_eq!(answers.iter().filter(|status| **status == 429).count(), 17, "{answers:?}");
}

#[test]
fn rules_come_in_order_and_what_is_blocked_or_passed_over_before_does_not_count() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    let query = |word: &str| format!("http.request.uri.query contains \"{word}\"");
    let custom = format!("{owner}/rulesets/phases/http_request_firewall_custom/entrypoint");
    let rules = json!({"rules": [
        {"action": "block", "expression": query("blocked")},
        {"action": "skip", "expression": query("free"), "action_parameters": {"phases": [PHASE]}},
    ]});
    api.result("PUT", &custom, &rules);
    let mut told = limit("true", &["ip.src"], 2, &Value::Null);
    told["action"] = json!("log");
    let own = json!({"response": {"status_code": 420, "content": "calm", "content_type": "text/plain"}});
    let mut blocks = limit("true", &["ip.src"], 4, &Value::Null);
    blocks["action_parameters"] = own;
    let rules = json!({"rules": [
        {"action": "skip", "expression": query("current"), "action_parameters": {"ruleset": "current"}},
        told,
        blocks,
    ]});
    api.result("PUT", &entry_point(&owner), &rules);
    let status = |target: &str| send(&edge, target, "").status;
    for target in ["/?blocked", "/?free", "/?current"] {
        let expected = if target == "/?blocked" { 403 } else { 200 };
        assert_eq!([(); 6].map(|()| status(target)), [expected; 6], "{target}");
    }
    assert_eq!([(); 6].map(|()| status("/")), [200, 200, 200, 200, 420, 420]);
    let last = send(&edge, "/", "");
    assert_eq!((last.text().as_str(), last.header("content-type")), ("calm", Some("text/plain")));
    assert!(last.header("retry-after").is_some());
    let actions = || {
        let events = api.get(&format!("{owner}/security/events?source=ratelimit"));
        let count = |action: &str| {
            events.as_array().unwrap().iter().filter(|event| event["Action"] == action).count()
        };
        (count("log"), count("block"))
    };
    wait_for("the events", || (actions() == (5, 3)).then_some(()));
    // An account's rule counts over all its zones.
    let other = zone(&api, "b.example", &origin);
    api.result(
        "PUT",
        &entry_point("/accounts/acme"),
        &json!({"rules": [limit("true", &["ip.src"], 3, &Value::Null)]}),
    );
    let of_other = || Client::get(edge.proxy[0], "b.example", "/").status;
    api.result("PUT", &entry_point(&owner), &json!({"rules": []}));
    assert_eq!(
        [status("/"), of_other(), status("/"), of_other(), status("/")],
        [200, 200, 200, 429, 429],
        "{other}"
    );
}

#[test]
fn what_cannot_be_counted_is_refused_with_its_place() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let path = entry_point(&format!("/zones/{id}"));
    for (more, pointer) in [
        (json!({"characteristics": []}), "characteristics"),
        (json!({"characteristics": ["http.response.code"]}), "characteristics/0"),
        (json!({"characteristics": ["ip.src", "http.nothing"]}), "characteristics/1"),
        (json!({"characteristics": ["any(http.request.headers.names[*] eq \"x\")"]}), "characteristics/0"),
        (json!({"period": 0}), "period"),
        (json!({"period": 86_401}), "period"),
        (json!({"period": -1}), "period"),
        (json!({"period": "x"}), "period"),
        (json!({"requests_per_period": 0}), "requests_per_period"),
        (json!({"requests_per_period": null}), "requests_per_period"),
        (json!({"score_per_period": 5}), "requests_per_period"),
        (json!({"mitigation_timeout": 100_000}), "mitigation_timeout"),
        (json!({"counting_expression": "http.nothing eq 1"}), "counting_expression"),
        (json!({"score_response_header_name": "x"}), "score_response_header_name"),
    ] {
        let (status, answer) =
            api.call("PUT", &path, &json!({"rules": [limit("true", &["ip.src"], 1, &more)]}));
        let pointer = format!("/rules/0/ratelimit/{pointer}");
        let pointers: Vec<&Value> =
            answer["errors"].as_array().unwrap().iter().map(|error| &error["source"]["pointer"]).collect();
        assert!(status == 400 && pointers.contains(&&json!(pointer)), "{more} {answer}");
    }
    let missing = json!({"action": "block", "expression": "true"});
    assert_eq!(api.refused("PUT", &path, &json!({"rules": [missing]})), (400, vec![20130]));
    let custom = format!("/zones/{id}/rulesets/phases/http_request_firewall_custom/entrypoint");
    let misplaced = limit("true", &["ip.src"], 1, &Value::Null);
    assert_eq!(api.refused("PUT", &custom, &json!({"rules": [misplaced]})), (400, vec![20130]));
    assert_eq!(api.refused("GET", &path, &Value::Null), (404, vec![10003]), "nothing of it is kept");
}

#[test]
fn a_file_declares_them_too() {
    let origin = Origin::echo();
    let conf = |rate: &str| {
        format!(
            "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
             [[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[[zones.rulesets]]\nphase = \"{PHASE}\"\n\
             [[zones.rulesets.rules]]\naction = \"block\"\n{rate}[zones.waf]\n",
            origin.url()
        )
    };
    let rate = "ratelimit = { characteristics = [\"ip.src\"], period = 60, requests_per_period = 2 }\n";
    let edge = Edge::start(&conf(rate));
    assert_eq!(pass(&edge, "/", "", 4), 2);
    // A reload of the file keeps the counters.
    let revision = edge.metric("portcullis_snapshot_revision");
    edge.rewrite(&conf(&rate.replace("= 2", "= 3")));
    edge.wait_for_metric("portcullis_snapshot_revision", revision + 1.0);
    assert_eq!(pass(&edge, "/", "", 4), 1);
    let shown = Api::new(&edge, TOKEN).get(&entry_point("/zones/a.example"));
    assert_eq!(shown["rules"][0]["ratelimit"]["requests_per_period"], 3);
    // Over HTTP/2 as over HTTP/1.
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let both = conf(rate).replacen("[admin]", &format!("{}[admin]", tls_listener(&["a"])), 1);
    let edge = Edge::start_in(folder, &both, &[]);
    let port = edge.proxy[1].port();
    let (url, resolve) = (format!("https://a.example:{port}/"), format!("a.example:{port}:127.0.0.1"));
    let over_h2 = || curl(&["--http2", "--resolve", &resolve, &url]).0;
    assert_eq!([over_h2(), send(&edge, "/", "").status, over_h2()], [200, 200, 429]);
    let refused = refused_by_check(&conf(&rate.replace("60", "0")));
    assert!(refused.contains("`period` takes 1 to 86400 seconds") && refused.contains(".toml:"), "{refused}");
    let refused = refused_by_check(&conf("ratelimit = { period = 60 }\n"));
    assert!(refused.contains("characteristics"), "{refused}");
}
