//! Settings of zones that say how requests are treated: from a file, over the API, and by rules.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::api::{TOKEN, zone};
use crate::challenges::edge_of;
use crate::dns_server::name_server;
use crate::support::{
    Api, Client, Data, Edge, Origin, Response, certificate, curl, mmdb_of, refused_by_check, wait_for,
};

const CONFIG: &str = "http_config_settings";
const BROWSER: &str = "Accept: text/html\r\nUser-Agent: browser/1\r\n";

fn conf(origin: &Origin, settings: &str) -> String {
    format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
         [[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{settings}\n",
        origin.url()
    )
}

/// A rule that treats some requests otherwise.
fn set_config(expression: &str, parameters: &Value) -> Value {
    json!({"action": "set_config", "expression": expression, "action_parameters": parameters})
}

fn as_toml(rules: &[Value]) -> String {
    let rulesets = json!({"rulesets": [{"phase": CONFIG, "rules": rules}]});
    toml::to_string(&rulesets)
        .unwrap()
        .replace("[[rulesets", "[[zones.rulesets")
        .replace("[rulesets", "[zones.rulesets")
}

fn send(edge: &Edge, request_line: &str, fields: &str, body: &str) -> Response {
    let request =
        format!("{request_line} HTTP/1.1\r\nHost: a.example\r\n{fields}Connection: close\r\n\r\n{body}");
    Client::once(edge.proxy[0], request)
}

#[test]
fn a_file_and_the_api_take_the_same_settings() {
    let origin = Origin::echo();
    let file = Edge::start(&conf(
        &origin,
        "[zones.settings]\nmax_upload = 2\nwebsockets = false\nsecurity_header = { strict_transport_security = { enabled = true, max_age = 60 } }",
    ));
    let shown = |api: &Api, id: &str| api.get(&format!("/zones/a.example/settings/{id}"))["value"].clone();
    let api = Api::new(&file, TOKEN);
    assert_eq!((shown(&api, "max_upload"), shown(&api, "websockets")), (json!(2), json!("off")));
    assert_eq!(shown(&api, "security_header")["strict_transport_security"]["max_age"], 60);
    let (_stored, api) = crate::api::edge(&origin);
    zone(&api, "a.example", &origin);
    for (id, value, expected) in [
        ("challenge_ttl", json!(900), json!(900)),
        ("challenge_ttl", Value::Null, Value::Null),
        ("ip_geolocation", json!("on"), json!("on")),
        ("max_upload", json!(100), json!(100)),
        ("proxy_read_timeout", json!(5), json!(5)),
        ("security_level", json!("under_attack"), json!("under_attack")),
        ("ssl", json!("origin_pull"), json!("origin_pull")),
        ("true_client_ip_header", json!(true), json!("on")),
        ("websockets", json!("off"), json!("off")),
    ] {
        let path = format!("/zones/a.example/settings/{id}");
        assert_eq!(api.result("PATCH", &path, &json!({"value": value}))["value"], expected, "{id}");
        assert_eq!(shown(&api, id), expected, "{id}");
    }
    for (id, value) in [
        ("challenge_ttl", json!(899)),
        ("max_upload", json!(0)),
        ("max_upload", json!(5001)),
        ("max_upload", json!(-1)),
        ("max_upload", json!(4_294_967_297_u64)),
        ("proxy_read_timeout", json!(6001)),
        ("security_level", json!("high")),
        ("ssl", json!("full")),
        ("websockets", json!(0)),
    ] {
        let refused = api.call("PATCH", &format!("/zones/a.example/settings/{id}"), &json!({"value": value}));
        assert_eq!(
            (refused.0, &refused.1["errors"][0]["source"]["pointer"]),
            (400, &json!("/value")),
            "{id}"
        );
    }
    for (settings, expected) in [
        ("websocket = false", "has no `websocket`; expected one of `always_use_https`"),
        ("ssl = \"full\"", "`zones.settings.ssl`: expected `flexible`, `strict` or `origin_pull`"),
        ("max_upload = \"8MB\"", "expected 1 to 5000 MB"),
        ("tls_1_3 = false\nmin_tls_version = \"1.3\"", "no version is left"),
    ] {
        let refused = refused_by_check(&conf(&origin, &format!("[zones.settings]\n{settings}")));
        assert!(refused.contains(expected) && refused.contains(":9:1"), "{refused}");
    }
}

#[test]
fn rules_set_what_is_a_setting_and_has_a_value_of_it() {
    let origin = Origin::echo();
    let (_stored, api) = crate::api::edge(&origin);
    zone(&api, "a.example", &origin);
    let path = format!("/zones/a.example/rulesets/phases/{CONFIG}/entrypoint");
    for (parameters, field, told) in [
        (json!({}), "", "needs a setting"),
        (json!({"max_upload": 0}), "/max_upload", "`max_upload` takes 1 to 5000, found 0"),
        (json!({"proxy_read_timeout": 6001}), "/proxy_read_timeout", "`proxy_read_timeout` takes 1 to 6000"),
        (json!({"security_level": "low"}), "/security_level", "unknown security level `low`"),
    ] {
        let (status, answer) = api.call("PUT", &path, &json!({"rules": [set_config("true", &parameters)]}));
        let pointer = format!("/rules/0/action_parameters{field}");
        assert_eq!((status, &answer["errors"][0]["source"]["pointer"]), (400, &json!(pointer)), "{answer}");
        let refused = refused_by_check(&conf(&origin, &as_toml(&[set_config("true", &parameters)])));
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn who_is_under_attack_has_everybody_solve_a_puzzle_but_who_is_let_through() {
    let origin = Origin::echo();
    let zone = |settings: &str| {
        format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n{settings}", origin.url())
    };
    let off = as_toml(&[set_config(
        "http.request.uri.path eq \"/health\"",
        &json!({"security_level": "essentially_off"}),
    )]);
    let on = as_toml(&[set_config(
        "http.request.uri.path ne \"/health\"",
        &json!({"security_level": "under_attack"}),
    )]);
    for settings in [
        format!("settings = {{ security_level = \"under_attack\", challenge_ttl = 900 }}\n{off}"),
        format!("settings = {{ challenge_ttl = 900 }}\n{on}"),
    ] {
        origin.forget();
        let edge = edge_of(&zone(&settings), "");
        assert_eq!(send(&edge, "GET /health", BROWSER, "").status, 200);
        assert_eq!(origin.requests().len(), 1);
        let page = send(&edge, "GET /", BROWSER, "");
        assert_eq!((page.status, page.header("svc-mitigated")), (403, Some("challenge")));
        let posted = send(&edge, "POST /", "Content-Length: 3\r\n", "a=1");
        assert_eq!((posted.status, posted.header("svc-mitigated")), (403, Some("challenge")));
        assert_eq!(origin.requests().len(), 1, "nothing of these left");
        let text = page.text();
        let puzzle = text.split_once("\"puzzle\":\"").unwrap().1.split_once('"').unwrap().0;
        let solution = challenge::Puzzle::solve(puzzle).unwrap();
        let fields = format!("{BROWSER}Content-Length: {}\r\n", solution.len());
        let solved = send(&edge, &format!("POST {}", crate::challenges::SOLUTION), &fields, &solution);
        let cookie = solved.header("set-cookie").unwrap();
        let seconds = cookie.split_once("; Max-Age=").unwrap().1.split_once(';').unwrap().0;
        assert!((800..=900).contains(&seconds.parse::<u32>().unwrap()), "{cookie}");
        let cookie = cookie.split_once(';').unwrap().0;
        assert_eq!(send(&edge, "GET /", &format!("{BROWSER}Cookie: {cookie}\r\n"), "").status, 200);
        let event = wait_for("the event", || {
            edge.events().into_iter().find(|event| event["RuleID"] == "security_level")
        });
        assert_eq!(event["Action"], "managed_challenge", "{event}");
    }
}

#[test]
fn no_body_is_longer_than_its_zone_takes_however_it_comes() {
    let origin = Origin::echo();
    let rule = set_config("starts_with(http.request.uri.path, \"/big\")", &json!({"max_upload": 2}));
    let waf = "[zones.waf]\n";
    for protection in ["", waf] {
        let edge = Edge::start(&conf(
            &origin,
            &format!(
                "{protection}[zones.settings]\nmax_upload = 1\n{}",
                as_toml(std::slice::from_ref(&rule))
            ),
        ));
        let short = "x".repeat(1_000_000);
        let long = "x".repeat(1_000_001);
        for (target, body, status) in [("/", &short, 200), ("/", &long, 413), ("/big", &long, 200)] {
            origin.forget();
            let length = format!("Content-Type: text/plain\r\nContent-Length: {}\r\n", body.len());
            assert_eq!(send(&edge, &format!("POST {target}"), &length, body).status, status, "{target}");
            assert_eq!(origin.requests().len(), usize::from(status == 200), "{target}");
            let chunked: String = body
                .as_bytes()
                .chunks(50_000)
                .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), "x".repeat(chunk.len())))
                .collect();
            origin.forget();
            let mut client = Client::connect(edge.proxy[0]);
            client.send(format!("POST {target} HTTP/1.1\r\nHost: a.example\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}0\r\n\r\n"));
            assert_eq!(client.receive().unwrap().status, status, "{target}, {protection}");
            assert_eq!(
                origin.requests().len(),
                usize::from(status == 200),
                "no whole request reaches it: {target}"
            );
        }
    }
}

#[test]
fn a_body_that_is_sent_again_is_not_counted_twice() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let origin = Origin::start(move |_, stream| {
        // The second request meets a connection that ends, and comes again on another.
        let nth = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        nth != 1 && stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_ok()
    });
    let edge = Edge::start(&conf(&origin, "[zones.waf]\n[zones.settings]\nmax_upload = 1\n"));
    let body = "x".repeat(700_000);
    for _ in 0..2 {
        let length = format!("Content-Type: text/plain\r\nContent-Length: {}\r\n", body.len());
        assert_eq!(send(&edge, "PUT /", &length, &body).status, 200);
    }
    assert_eq!(origin.requests().len(), 3);
}

#[test]
fn web_sockets_are_opened_where_they_may() {
    let origin = Origin::start(|request, stream| {
        let key = request.header("sec-websocket-key").unwrap_or("");
        let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        stream.write_all(answer.as_bytes()).is_ok()
    });
    let rule = set_config("http.request.uri.path eq \"/chat\"", &json!({"websockets": true}));
    let edge =
        Edge::start(&conf(&origin, &format!("settings = {{ websockets = \"off\" }}\n{}", as_toml(&[rule]))));
    let open = |path: &str| {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
        client.head().unwrap().status
    };
    assert_eq!((open("/"), open("/chat"), open("/chat/")), (403, 101, 403));
    assert_eq!(origin.begun().len(), 1);
}

#[test]
fn an_origin_may_be_silent_as_long_as_its_zone_says() {
    let origin = Origin::start(|request, stream| {
        if request.path() == "/slow" {
            // Says nothing until the edge has given up.
            return std::io::Read::read(stream, &mut [0]).is_ok();
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_ok()
    });
    let rule = set_config("http.request.method eq \"POST\"", &json!({"proxy_read_timeout": 600}));
    let edge = Edge::start(&conf(
        &origin,
        &format!("settings = {{ proxy_read_timeout = 1 }}\n{}", as_toml(&[rule])),
    ));
    assert_eq!(send(&edge, "GET /slow", "", "").status, 504);
    let mut patient = Client::connect(edge.proxy[0]);
    patient.send("POST /slow HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n\r\nx");
    wait_for("the origin to have it", || (origin.requests().len() == 2).then_some(()));
    assert_eq!(send(&edge, "GET /slow", "", "").status, 504, "it waits while another has given up");
    assert_eq!(send(&edge, "GET /", "", "").status, 200);
}

#[test]
fn origins_hear_of_the_client_what_settings_say_and_nothing_that_it_says_itself() {
    let (origin, folder) = (Origin::echo(), tempfile::tempdir().unwrap());
    let country = Data::Map(&[("country", Data::Map(&[("iso_code", Data::Text("FR"))]))]);
    std::fs::write(folder.path().join("c.mmdb"), mmdb_of("Test-Country", &[192, 0, 2], &country)).unwrap();
    let rule = set_config(
        "http.request.uri.path eq \"/plain\"",
        &json!({"true_client_ip_header": false, "ip_geolocation": false}),
    );
    let settings =
        format!("settings = {{ true_client_ip_header = true, ip_geolocation = true }}\n{}", as_toml(&[rule]));
    let conf = format!(
        "geo_databases = [\"c.mmdb\"]\ntrusted_proxies = [\"127.0.0.0/8\"]\n{}",
        conf(&origin, &settings)
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let lies = "True-Client-IP: 9.9.9.9\r\ntrue_client_ip: 9.9.9.9\r\nSVC-IPCountry: US\r\n";
    for (from, expected) in [("192.0.2.7", "FR"), ("198.51.100.7", "XX")] {
        send(&edge, "GET /", &format!("X-Forwarded-For: {from}\r\n{lies}"), "");
        let asked = origin.last();
        let all = |name: &str| {
            asked
                .headers
                .iter()
                .filter(|(known, _)| known.replace('_', "-") == name)
                .map(|(_, value)| value.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (all("true-client-ip"), all("svc-ipcountry")),
            (vec![from.to_owned()], vec![expected.to_owned()])
        );
    }
    send(&edge, "GET /plain", "X-Forwarded-For: 192.0.2.7\r\n", "");
    assert_eq!((origin.last().header("true-client-ip"), origin.last().header("svc-ipcountry")), (None, None));
}

#[test]
fn records_are_asked_with_or_without_tls_as_settings_say() {
    let plain = Origin::on(std::net::TcpListener::bind("127.0.0.2:0").unwrap(), |_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_ok()
    });
    let port = plain.address.port();
    // Nobody speaks TLS at the other port.
    let (edge, api, _, records) =
        name_server(&format!("private_origins = true\nhttp_port = {port}\nhttps_port = {port}\n"));
    api.post(&records, &json!({"type": "A", "name": "www", "content": "127.0.0.2", "proxied": true}));
    let owner = records.strip_suffix("/dns_records").unwrap();
    let ask = |target: &str| Client::get(edge.proxy[0], "www.example.com", target).status;
    let set = |mode: Value| api.result("PATCH", &format!("{owner}/settings/ssl"), &json!({"value": mode}));
    for (mode, expected) in [("strict", 200), ("origin_pull", 502), ("flexible", 200)] {
        set(json!(mode));
        assert_eq!(ask("/"), expected, "{mode}");
    }
    let rule = set_config("http.request.uri.path eq \"/tls\"", &json!({"ssl": "origin_pull"}));
    api.result("PUT", &format!("{owner}/rulesets/phases/{CONFIG}/entrypoint"), &json!({"rules": [rule]}));
    assert_eq!((ask("/"), ask("/tls")), (200, 502));
}

#[test]
fn a_file_leads_to_https_and_tells_browsers_to_stay() {
    let (origin, folder) = (Origin::echo(), tempfile::tempdir().unwrap());
    certificate(folder.path(), "c", &["a.example"]);
    let settings = "settings = { always_use_https = true, security_header = { strict_transport_security = { enabled = true, max_age = 60 } } }\n";
    let conf = format!(
        "{}{}",
        crate::listener::tls_listener(&["c"]),
        conf(&origin, settings).replacen("127.0.0.1", "127.0.0.2", 1)
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let (tls, plain) = (edge.proxy[0], edge.proxy[1]);
    let led = Client::get(plain, "a.example", "/x?y");
    assert_eq!((led.status, led.header("location")), (301, Some("https://a.example/x?y")));
    let resolve = format!("a.example:{}:127.0.0.1", tls.port());
    let url = format!("https://a.example:{}/", tls.port());
    let (status, answer) = curl(&["-D", "-", "--resolve", &resolve, &url]);
    assert!(
        status == 200 && answer.to_ascii_lowercase().contains("strict-transport-security: max-age=60"),
        "{status} {answer}"
    );
}
