//! Rules that have another origin asked, or tell an origin another host.

use serde_json::{Value, json};

use crate::api::{edge, zone};
use crate::listener::tls_listener;
use crate::support::{Api, Client, Edge, Origin, certificate, curl, refused_by_check};

const PHASE: &str = "http_request_origin";

fn route(expression: &str, parameters: &Value) -> Value {
    json!({"action": "route", "expression": expression, "action_parameters": parameters})
}

fn put(api: &Api, owner: &str, rules: &[Value]) -> Value {
    api.result("PUT", &format!("{owner}/rulesets/phases/{PHASE}/entrypoint"), &json!({"rules": rules}))
}

fn port(origin: &Origin) -> u16 {
    origin.url().rsplit_once(':').unwrap().1.parse().unwrap()
}

fn get(edge: &Edge, target: &str) -> u16 {
    Client::get(edge.proxy[0], "a.example", target).status
}

#[test]
fn a_path_has_its_own_origin_and_each_part_is_that_of_the_last_rule() {
    let (shop, api_server, other) = (Origin::echo(), Origin::echo(), Origin::echo());
    let (edge, api) = edge(&shop);
    let id = zone(&api, "a.example", &shop);
    let owner = format!("/zones/{id}");
    let path = |prefix: &str| format!("starts_with(http.request.uri.path, \"{prefix}\")");
    let to_api = json!({"origin": {"port": port(&api_server)}, "host_header": "api.internal:8080"});
    let rules = [
        route(&path("/api"), &to_api),
        route(&path("/api/other"), &json!({"origin": {"host": "127.0.0.1", "port": port(&other)}})),
    ];
    let shown = put(&api, &owner, &rules);
    assert_eq!(shown["rules"][0]["action_parameters"], to_api, "it is shown as it was written");
    for (target, host, asked) in [
        ("/", "a.example", &shop),
        ("/api?x=1", "api.internal:8080", &api_server),
        ("/api/other", "api.internal:8080", &other),
    ] {
        for origin in [&shop, &api_server, &other] {
            origin.forget();
        }
        assert_eq!(get(&edge, target), 200);
        let counts = [&shop, &api_server, &other].map(|origin| origin.requests().len());
        assert_eq!(counts.iter().sum::<usize>(), 1, "{target}: {counts:?}");
        let seen = asked.last();
        assert_eq!((seen.header("host"), seen.header("x-forwarded-host")), (Some(host), Some("a.example")));
        assert!(seen.line.contains(target), "{}", seen.line);
    }
    // What rules refuse goes to no origin, whichever it would be; a body goes where its head goes.
    let block = json!({"rules": [{"action": "block", "expression": "http.request.uri.query eq \"no\""}]});
    api.result("PUT", &format!("{owner}/rulesets/phases/http_request_firewall_custom/entrypoint"), &block);
    api_server.forget();
    assert_eq!(get(&edge, "/api?no"), 403);
    assert_eq!(api_server.requests().len(), 0);
    let posted = Client::post(edge.proxy[0], "a.example", "/api", "text/plain", &[b'x'; 100_000]);
    assert_eq!((posted.status, posted.body.len(), api_server.last().body.len()), (200, 100_000, 100_000));
    // A rule of the account comes first, for all its zones; one of the zone wins.
    let second = zone(&api, "b.example", &shop);
    put(
        &api,
        "/accounts/acme",
        &[route("true", &json!({"origin": {"port": port(&other)}, "host_header": "all.internal"}))],
    );
    other.forget();
    assert_eq!(Client::get(edge.proxy[0], "b.example", "/").status, 200);
    assert_eq!(other.last().header("host"), Some("all.internal"));
    assert_eq!((get(&edge, "/api"), api_server.last().header("host")), (200, Some("api.internal:8080")));
    // Skipped, it does nothing.
    let skip = json!({"rules": [{"action": "skip", "expression": "true", "action_parameters": {"phases": [PHASE]}}]});
    api.result("PUT", "/accounts/acme/rulesets/phases/http_request_firewall_custom/entrypoint", &skip);
    shop.forget();
    assert_eq!(Client::get(edge.proxy[0], "b.example", "/").status, 200);
    assert_eq!((shop.requests().len(), second.is_empty()), (1, false));
}

#[test]
fn a_host_and_a_server_name_reach_origins_over_tls_and_http2() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "o", &["localhost"]);
    certificate(folder.path(), "p", &["api.example"]);
    let (shop, api_server) = (Origin::echo(), Origin::echo());
    let zone = |name: &str, origin: &Origin| {
        format!("[[zones]]\nname = \"{name}\"\norigins = [\"{}\"]\n", origin.url())
    };
    // The edge itself serves as the TLS origin of another, with a certificate for each name.
    let inner = Edge::start_in(
        folder,
        &format!(
            "{}{}{}",
            tls_listener(&["o", "p"]),
            zone("a.example", &shop),
            zone("api.example", &api_server)
        ),
        &[],
    );
    let pem = |name: &str| std::fs::read_to_string(inner.folder.path().join(format!("{name}.pem"))).unwrap();
    let rules = |parameters: &str| {
        format!(
            "rulesets = [{{ phase = \"{PHASE}\", rules = [{{ action = \"route\", expression = 'http.request.uri.path eq \"/api\"', \
             action_parameters = {{ {parameters} }} }}] }}]\n"
        )
    };
    let conf = |more: &str| {
        format!(
            "{}[[zones]]\nname = \"a.example\"\norigins = [\"https://localhost:{}\"]\n{more}",
            tls_listener(&["c"]),
            inner.proxy[0].port()
        )
    };
    let both = "host_header = \"api.example\", sni = { value = \"API.example\" }";
    for (protocol, ca, parameters, status) in [
        ("http1", "both", both, 200),
        ("http2", "both", both, 200),
        ("http1", "one", both, 502),
        ("http2", "one", "host_header = \"api.example\"", 200),
    ] {
        let more =
            format!("origin_protocol = \"{protocol}\"\norigin_ca = \"{ca}.pem\"\n{}", rules(parameters));
        // Each with connections of its own.
        let folder = tempfile::tempdir().unwrap();
        certificate(folder.path(), "c", &["a.example"]);
        std::fs::write(folder.path().join("both.pem"), pem("o") + &pem("p")).unwrap();
        std::fs::write(folder.path().join("one.pem"), pem("o")).unwrap();
        let edge = Edge::start_in(folder, &conf(&more), &[]);
        let port = edge.proxy[0].port();
        let resolve = format!("a.example:{port}:127.0.0.1");
        for version in ["--http1.1", "--http2"] {
            api_server.forget();
            let url = format!("https://a.example:{port}/api");
            let (got, _) = curl(&["-sk", version, "--resolve", &resolve, &url]);
            assert_eq!(got, status, "{protocol} {ca} {version}");
            assert_eq!(api_server.requests().len(), usize::from(status == 200));
            let (got, _) =
                curl(&["-sk", version, "--resolve", &resolve, &format!("https://a.example:{port}/shop")]);
            assert_eq!(got, 200);
        }
    }
}

#[test]
fn what_no_origin_can_be_is_refused_with_its_place() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    for (parameters, pointer) in [
        (json!(null), "/rules/0/action_parameters"),
        (json!({}), "/rules/0/action_parameters"),
        (json!({"origin": {}}), "/rules/0/action_parameters/origin"),
        (json!({"origin": {"host": "a b"}}), "/rules/0/action_parameters/origin"),
        (json!({"origin": {"host": "a.example/x"}}), "/rules/0/action_parameters/origin"),
        (json!({"origin": {"host": "user@a.example"}}), "/rules/0/action_parameters/origin"),
        (json!({"origin": {"port": 0}}), "/rules/0/action_parameters/origin/port"),
        (json!({"host_header": "a\r\nX: y"}), "/rules/0/action_parameters/host_header"),
        (json!({"host_header": "a:b"}), "/rules/0/action_parameters/host_header"),
        (json!({"sni": {"value": "a b"}}), "/rules/0/action_parameters/sni/value"),
    ] {
        let path = format!("/zones/{id}/rulesets/phases/{PHASE}/entrypoint");
        let (status, answer) = api.call("PUT", &path, &json!({"rules": [route("true", &parameters)]}));
        assert_eq!((status, &answer["errors"][0]["source"]["pointer"]), (400, &json!(pointer)), "{answer}");
    }
    let block = "rulesets = [{ phase = \"http_request_origin\", rules = [{ action = \"block\", expression = \"true\" }] }]";
    let refused = refused_by_check(&format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{block}\n",
        origin.url()
    ));
    assert!(
        refused.contains("has no action `block`; expected one of `execute`, `route`, `skip`"),
        "{refused}"
    );
}
