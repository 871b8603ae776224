//! Rules that lead clients elsewhere, and rules that change requests and responses.

use serde_json::{Value, json};

use crate::api::{REQUESTS, TOKEN, edge, execute, managed, zone};
use crate::listener::tls_listener;
use crate::support::{
    Api, Client, Edge, Origin, Response, certificate, curl, refused_by_check, run_cli, wait_for,
};

const REDIRECTS: [&str; 2] = ["http_request_dynamic_redirect", "http_request_redirect"];
const TRANSFORM: &str = "http_request_transform";
const RESPONSE: &str = "http_response_headers_transform";

fn entry_point(owner: &str, phase: &str) -> String {
    format!("{owner}/rulesets/phases/{phase}/entrypoint")
}

fn rule(action: &str, expression: &str, parameters: &Value) -> Value {
    json!({"action": action, "expression": expression, "action_parameters": parameters})
}

fn send(edge: &Edge, target: &str, fields: &str) -> Response {
    let head = format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n{fields}Connection: close\r\n\r\n");
    Client::once(edge.proxy[0], head)
}

#[test]
fn a_client_is_led_elsewhere_before_anything_else_is_asked() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    let to = |expression: &str, target: Value, status: u16| {
        let target = json!({"target_url": target, "status_code": status, "preserve_query_string": true});
        rule("redirect", expression, &json!({"from_value": target}))
    };
    let path = |text: &str| format!("http.request.uri.path eq \"{text}\"");
    let rules = json!({"rules": [
        to(&path("/old"), json!({"value": "https://new.example/home#top"}), 308),
        to("starts_with(http.request.uri.path, \"/en/\")", json!({"expression": "concat(\"/de/\", substring(raw.http.request.uri.path, 4))"}), 302),
        to(&path("/out"), json!({"expression": "http.request.uri.args[\"to\"][0]"}), 302),
    ]});
    let custom = json!({"rules": [rule("block", "true", &Value::Null)]});
    api.result("PUT", &entry_point(&owner, "http_request_firewall_custom"), &custom);
    for phase in REDIRECTS {
        let put = api.result("PUT", &entry_point(&owner, phase), &rules);
        assert_eq!(put["rules"][0]["action_parameters"], rules["rules"][0]["action_parameters"]);
        for (target, status, location) in [
            ("/old", 308, Some("https://new.example/home#top")),
            ("/old?a=1&b=%20", 308, Some("https://new.example/home?a=1&b=%20#top")),
            ("/en/x?q", 302, Some("/de/x?q")),
            ("/en//evil.example/", 302, Some("/de//evil.example/")),
            ("/out?to=/in", 302, Some("/in?to=/in")),
            ("/out?to=//evil.example/", 302, Some("/evil.example/?to=//evil.example/")),
            ("/out?to=https://evil.example/", 400, None),
            (
                "/out?to=https://a.example/x%0d%0ax:y",
                302,
                Some("https://a.example/x%0D%0Ax:y?to=https://a.example/x%0d%0ax:y"),
            ),
            ("/out", 400, None),
            ("/else", 403, None),
        ] {
            let answer = send(&edge, target, "");
            assert_eq!((answer.status, answer.header("location")), (status, location), "{target}");
        }
        let head = "HEAD /old HTTP/1.1\r\nHost: a.example\r\n\r\n";
        assert_eq!(Client::connect(edge.proxy[0]).send(head).head().unwrap().status, 308);
        // With a body that nobody reads, and another request behind it.
        let mut client = Client::connect(edge.proxy[0]);
        client.send("POST /old HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\nabcGET /else HTTP/1.1\r\nHost: a.example\r\n\r\n");
        assert_eq!((client.receive().unwrap().status, client.receive().unwrap().status), (308, 403));
        api.result("PUT", &entry_point(&owner, phase), &json!({"rules": []}));
    }
    // The line of the request says which rule it was.
    let moved = send(&edge, "/old", "");
    assert_eq!(moved.status, 403, "no rule leads it elsewhere any more");
    api.result("PUT", &entry_point(&owner, REDIRECTS[0]), &rules);
    let ray = send(&edge, "/old", "").header("svc-ray").unwrap().to_owned();
    let why = wait_for("the line of the request", || {
        let output = run_cli(&["waf", "why", &ray], edge.log_text().as_bytes());
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    });
    assert!(why.starts_with("redirect: rule ") && why.contains(&format!("phase {}", REDIRECTS[0])), "{why}");
    assert_eq!(origin.requests().len(), 0);
    let events = api.get(&format!("{owner}/security/events"));
    assert!(events.as_array().unwrap().iter().all(|event| event["Action"] == "block"), "{events}");
}

#[test]
fn what_rules_make_of_a_request_is_judged_and_is_what_the_origin_gets() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    let is = |text: &str| format!("http.request.uri.path eq \"{text}\"");
    let uri = |path: Value, query: Value| json!({"uri": {"path": path, "query": query}});
    let rules = json!({"rules": [
        rule("rewrite", &is("/a"), &uri(json!({"value": "/b c?d"}), Value::Null)),
        rule("rewrite", &is("/q"), &uri(Value::Null, json!({"value": ""}))),
        rule("rewrite", &is("/decoded"), &uri(Value::Null, json!({"expression": "url_decode(http.request.uri.query)"}))),
        rule("rewrite", &is("/moved"), &uri(json!({"expression": "concat(\"/new\", http.request.uri.path)"}), Value::Null)),
    ]});
    api.result("PUT", &entry_point(&owner, TRANSFORM), &rules);
    let target = |sent: &str| {
        origin.forget();
        let status = send(&edge, sent, "").status;
        (status, origin.requests().first().map(|request| request.path().to_owned()).unwrap_or_default())
    };
    for (sent, expected) in [
        ("/a?x=1", "/b%20c%3Fd?x=1"),
        ("http://a.example/a?x=1", "/b%20c%3Fd?x=1"),
        ("/q?x=1", "/q"),
        ("/./moved?%C3%BC", "/new/moved?%C3%BC"),
        ("/decoded?a%20b%23%0d%0aX:%20y", "/decoded?a%20b%23%0D%0AX:%20y"),
        ("/else//?x", "/else//?x"),
        ("//q.example/y?x", "//q.example/y?x"),
    ] {
        assert_eq!(target(sent), (200, expected.to_owned()), "{sent}");
    }
    // A request for the server as a whole has neither path nor query.
    let all =
        json!({"rules": [rule("rewrite", "true", &uri(json!({"value": "/p"}), json!({"value": "q"})))]});
    api.result("PUT", &entry_point(&owner, TRANSFORM), &all);
    let star = "OPTIONS * HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    assert_eq!((Client::once(edge.proxy[0], star).status, origin.last().path()), (200, "*"));
    api.result("PUT", &entry_point(&owner, TRANSFORM), &rules);
    // Later rules see both forms, and what is judged is what leaves: an attack that only shows when it is decoded.
    let custom = json!({"rules": [
        rule("block", "raw.http.request.uri.path eq \"/a\" and http.request.uri.query contains \"raw\"", &Value::Null),
        rule("block", "http.request.uri.path eq \"/new/moved\" and http.request.uri.query contains \"new\"", &Value::Null),
    ]});
    api.result("PUT", &entry_point(&owner, "http_request_firewall_custom"), &custom);
    assert_eq!((target("/a?raw").0, target("/moved?new").0, target("/moved?raw").0), (403, 403, 200));
    api.result("PUT", &entry_point(&owner, REQUESTS), &json!({"rules": [execute(&managed(&api, REQUESTS))]}));
    let twice = "/decoded?q=1'%2520UNION%2520SELECT%2520password%2520FROM%2520users--";
    assert_eq!((target(twice).0, origin.requests().len()), (403, 0));
    // A path that grows past what a request line may have.
    let grows = json!({"rules": [rule("rewrite", "true", &uri(json!({"expression": "concat(http.request.uri.path, http.request.uri.query)"}), Value::Null))]});
    api.result("PUT", &entry_point(&owner, TRANSFORM), &grows);
    assert_eq!(
        (target(&format!("/{}?{}", "a".repeat(100), "b".repeat(7900))).0, origin.requests().len()),
        (414, 0)
    );
    // Events tell of what the client sent.
    let events = wait_for("the events", || {
        let events = api.get(&format!("{owner}/security/events"));
        (events.as_array().unwrap().len() >= 3).then_some(events)
    });
    let paths: Vec<&Value> =
        events.as_array().unwrap().iter().map(|event| &event["ClientRequestPath"]).collect();
    assert!(paths.contains(&&json!("/moved")) && paths.contains(&&json!("/a")), "{paths:?}");
}

#[test]
fn header_fields_are_set_added_and_removed_in_both_directions() {
    let origin = Origin::start(|_, stream| {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: origin/1\r\nX-Two: a\r\nX-Two: b\r\n\r\nok";
        std::io::Write::write_all(stream, head.as_bytes()).is_ok()
    });
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    let edits = json!({"headers": {
        "X-Real-IP": {"operation": "set", "expression": "http.request.uri.args[\"ip\"][0]"},
        "X-Forwarded-Host": {"operation": "set", "value": "set.example"},
        "Cookie": {"operation": "remove"},
        "X-Note": {"operation": "add", "expression": "url_decode(http.request.uri.query)"},
    }});
    for phase in [TRANSFORM, "http_request_late_transform"] {
        api.result("PUT", &entry_point(&owner, phase), &json!({"rules": [rule("rewrite", "true", &edits)]}));
        let answer =
            send(&edge, "/?ip=192.0.2.9", "Cookie: a=b\r\nX-Note: mine\r\nX-Real-IP: 203.0.113.1\r\n");
        assert_eq!(answer.status, 200);
        let got = origin.last();
        let all = |name: &str| {
            got.headers
                .iter()
                .filter(|(known, _)| known.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!((all("x-real-ip"), all("x-forwarded-host")), (vec!["192.0.2.9"], vec!["set.example"]));
        assert_eq!((all("cookie"), all("x-note")), (vec![], vec!["mine", "ip=192.0.2.9"]));
        // Names that servers read as the same are no way around it.
        assert_eq!(
            send(&edge, "/?ip=192.0.2.9", "X_Real_IP: 203.0.113.1\r\nX-Real_IP: 203.0.113.2\r\n").status,
            200
        );
        let got = origin.last();
        let twins =
            got.headers.iter().filter(|(name, _)| name.to_ascii_lowercase().replace('_', "-") == "x-real-ip");
        assert_eq!(twins.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["192.0.2.9"]);
        // What would end the field, or is not there, sets nothing: and what the client sent does not stay.
        assert_eq!(send(&edge, "/?ip=%0d%0aX-Evil:%20y", "X-Real-IP: 203.0.113.1\r\n").status, 200);
        let got = origin.last();
        assert_eq!((got.header("x-real-ip"), got.header("x-evil"), got.header("x-note")), (None, None, None));
        api.result("PUT", &entry_point(&owner, phase), &json!({"rules": []}));
    }
    let edits = json!({"headers": {
        "Strict-Transport-Security": {"operation": "set", "value": "max-age=1"},
        "Server": {"operation": "remove"},
        "X-Two": {"operation": "set", "expression": "http.request.uri.path"},
        "X-Code": {"operation": "add", "value": "c"},
    }});
    let rules = json!({"rules": [rule("rewrite", "http.response.code eq 200 and http.response.headers[\"server\"][0] eq \"origin/1\"", &edits)]});
    api.result("PUT", &entry_point(&owner, RESPONSE), &rules);
    let answer = send(&edge, "/p", "");
    assert_eq!(
        (answer.text().as_str(), answer.header("server"), answer.header("x-two")),
        ("ok", None, Some("/p"))
    );
    assert_eq!(
        (answer.header("strict-transport-security"), answer.header("x-code")),
        (Some("max-age=1"), Some("c"))
    );
    assert_eq!(answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("x-two")).count(), 1);
}

#[test]
fn what_cannot_be_changed_or_followed_is_refused_with_its_place() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let header = |name: &str, edit: Value| json!({"headers": {name: edit}});
    let to = |target: Value| json!({"from_value": {"target_url": target}});
    for (phase, action, parameters, pointer) in [
        (REDIRECTS[1], "redirect", Value::Null, ""),
        (REDIRECTS[1], "redirect", json!({"from_value": {}}), "/from_value/target_url"),
        (REDIRECTS[1], "redirect", to(json!({})), "/from_value/target_url/value"),
        (
            REDIRECTS[1],
            "redirect",
            to(json!({"value": "javascript:alert(1)"})),
            "/from_value/target_url/value",
        ),
        (REDIRECTS[1], "redirect", to(json!({"value": "new.example"})), "/from_value/target_url/value"),
        (REDIRECTS[1], "redirect", to(json!({"expression": "ip.src"})), "/from_value/target_url/expression"),
        (
            REDIRECTS[1],
            "redirect",
            json!({"from_value": {"target_url": {"value": "/"}, "status_code": 304}}),
            "/from_value/status_code",
        ),
        (TRANSFORM, "rewrite", Value::Null, ""),
        (TRANSFORM, "rewrite", json!({"uri": {"path": {"value": "a"}}}), "/uri/path/value"),
        (
            TRANSFORM,
            "rewrite",
            json!({"uri": {"path": {"expression": "http.nothing"}}}),
            "/uri/path/expression",
        ),
        (
            TRANSFORM,
            "rewrite",
            header("Content-Length", json!({"operation": "remove"})),
            "/headers/Content-Length",
        ),
        (
            TRANSFORM,
            "rewrite",
            header("svc-ray", json!({"operation": "set", "value": "x"})),
            "/headers/svc-ray",
        ),
        (TRANSFORM, "rewrite", header("a b", json!({"operation": "remove"})), "/headers/a b"),
        (TRANSFORM, "rewrite", header("x", json!({"operation": "set"})), "/headers/x"),
        (TRANSFORM, "rewrite", header("x", json!({"operation": "remove", "value": "x"})), "/headers/x"),
        (TRANSFORM, "rewrite", header("x", json!({"value": "x"})), "/headers/x/operation"),
        (
            TRANSFORM,
            "rewrite",
            header("x", json!({"operation": "set", "value": "a\r\nb"})),
            "/headers/x/value",
        ),
        (
            TRANSFORM,
            "rewrite",
            header("x", json!({"operation": "set", "expression": "http.response.code"})),
            "/headers/x/expression",
        ),
        (RESPONSE, "rewrite", json!({"uri": {"path": {"value": "/a"}}}), "/uri"),
    ] {
        let path = entry_point(&format!("/zones/{id}"), phase);
        let (status, answer) = api.call("PUT", &path, &json!({"rules": [rule(action, "true", &parameters)]}));
        let pointer = format!("/rules/0/action_parameters{pointer}");
        assert_eq!(
            (status, &answer["errors"][0]["source"]["pointer"]),
            (400, &json!(pointer)),
            "{parameters} {answer}"
        );
    }
}

#[test]
fn each_action_is_for_its_phases_alone() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let to = |target: Value| json!({"from_value": {"target_url": target}});
    let path = entry_point(&format!("/zones/{id}"), TRANSFORM);
    let misplaced = rule("redirect", "true", &to(json!({"value": "/"})));
    assert_eq!(api.refused("PUT", &path, &json!({"rules": [misplaced]})), (400, vec![20126]));
    let framing =
        rule("rewrite", "true", &json!({"headers": {"Transfer_Encoding": {"operation": "remove"}}}));
    assert_eq!(api.refused("PUT", &path, &json!({"rules": [framing]})), (400, vec![20126]));
}

#[test]
fn a_file_declares_them_for_both_protocols() {
    let origin = Origin::echo();
    let conf = |listeners: &str, status: &str| {
        format!(
            "{listeners}[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
             [[rulesets]]\nphase = \"{RESPONSE}\"\n[[rulesets.rules]]\naction = \"rewrite\"\n\
             action_parameters = {{ headers = {{ x-account = {{ operation = \"set\", value = \"yes\" }} }} }}\n\
             [[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n\
             [[zones.rulesets]]\nphase = \"http_request_redirect\"\n[[zones.rulesets.rules]]\naction = \"redirect\"\n\
             expression = 'http.request.uri.path eq \"/old\"'\n\
             action_parameters = {{ from_value = {{ target_url = {{ value = \"/new\" }}, status_code = {status} }} }}\n\
             [[zones.rulesets]]\nphase = \"{TRANSFORM}\"\n[[zones.rulesets.rules]]\naction = \"rewrite\"\n\
             action_parameters = {{ uri = {{ path = {{ expression = 'concat(\"/x\", http.request.uri.path)' }} }} }}\n[zones.waf]\n",
            origin.url()
        )
    };
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let edge = Edge::start_in(folder, &conf(&tls_listener(&["a"]), "307"), &[]);
    let port = edge.proxy[0].port();
    let resolve = format!("a.example:{port}:127.0.0.1");
    for protocol in ["--http1.1", "--http2"] {
        let ask = |path: &str| {
            let url = format!("https://a.example:{port}{path}");
            curl(&[protocol, "-D", "-", "-d", "body", "--resolve", &resolve, &url])
        };
        let (status, head) = ask("/old");
        assert!(status == 307 && head.to_ascii_lowercase().contains("location: /new\r\n"), "{head}");
        let (status, head) = ask("/a?b");
        assert!(status == 200 && head.contains("x-account: yes") && head.ends_with("body"), "{head}");
        assert_eq!(origin.last().path(), "/x/a?b");
        let host = format!("a.example:{port}");
        assert_eq!(origin.last().header("host"), Some(host.as_str()), "{protocol}");
    }
    let shown = Api::new(&edge, TOKEN).get(&entry_point("/zones/a.example", TRANSFORM));
    assert_eq!(shown["rules"][0]["action"], "rewrite");
    let listener = "[[listeners]]\naddress = \"127.0.0.1:0\"\n";
    let refused = refused_by_check(&conf(listener, "200"));
    assert!(refused.contains("`status_code` takes 301, 302") && refused.contains(".toml:"), "{refused}");
}
