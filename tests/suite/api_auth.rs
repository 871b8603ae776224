//! Who may do what over the management API.

use serde_json::{Value, json};

use crate::api::{edge, zone};
use crate::support::{Api, BINARY, Client, Edge, Origin, run_cli};

/// Ids of permission groups by name.
fn group(api: &Api, name: &str) -> String {
    let groups = api.get("/user/tokens/permission_groups");
    let found = groups.as_array().unwrap().iter().find(|group| group["name"] == name);
    found.unwrap_or_else(|| panic!("no group {name}"))["id"].as_str().unwrap().to_owned()
}

fn policy(api: &Api, names: &[&str], resource: &str) -> Value {
    let groups: Vec<_> = names.iter().map(|name| json!({"id": group(api, name)})).collect();
    json!({"effect": "allow", "permission_groups": groups, "resources": {resource: "*"}})
}

/// A token with one policy, further fields beside it, and its value.
fn token(api: &Api, names: &[&str], resource: &str, more: &Value) -> (String, String) {
    let mut body = json!({"name": "t", "policies": [policy(api, names, resource)]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let made = api.post("/user/tokens", &body);
    (made["id"].as_str().unwrap().to_owned(), made["value"].as_str().unwrap().to_owned())
}

const ALL: &[&str] = &[
    "API Tokens Write",
    "Account Settings Write",
    "Account Rulesets Write",
    "AI Gateway Write",
    "Zone Write",
    "Zone WAF Write",
    "Security Events Read",
    "DNS Write",
    "SSL and Certificates Write",
    "Cache Purge",
];

/// The values of two tokens for everything: what is of the user, and the rest.
fn everywhere(api: &Api, more: &Value) -> (String, String) {
    let user = token(api, &["API Tokens Write"], "com.svc.api.user.*", more).1;
    let rest = token(api, ALL, "com.svc.api.account.*", more).1;
    (user, rest)
}

/// Every operation of the API, asked by each kind of caller: only the right one gets past the door.
#[test]
fn each_operation_is_for_those_who_have_its_permission() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let (mine, other) = (zone(&api, "mine.example", &origin), zone(&api, "other.example", &origin));
    let account = api.post("/accounts", &json!({"name": "second"}))["id"].as_str().unwrap().to_owned();
    let document: Value = serde_json::from_slice(&api.ask("GET", "/openapi.json", "", "").body).unwrap();
    let everywhere = |more: &Value| everywhere(&api, more);
    let (right_user, right) = everywhere(&json!({}));
    let (expired_user, expired) = everywhere(&json!({"expires_on": "2020-01-01T00:00:00Z"}));
    let (distant_user, distant) =
        everywhere(&json!({"condition": {"request_ip": {"in": ["192.0.2.0/24"], "not_in": []}}}));
    let (early_user, early) = everywhere(&json!({"not_before": "2099-01-01T00:00:00Z"}));
    let (_, powerless) = token(&api, &["AI Gateway Run"], "com.svc.api.account.*", &json!({}));
    let (_, elsewhere) = token(&api, ALL, &format!("com.svc.api.account.{account}"), &json!({}));
    let (_, one_zone) = token(&api, ALL, &format!("com.svc.api.account.zone.{other}"), &json!({}));
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let permission = operation["x-permission"].as_str().unwrap();
            let target = path.replace("{zone_id}", &mine).replace("{account_id}", "acme");
            let target = target.split('/').map(|part| if part.starts_with('{') { "none" } else { part });
            let target = target.collect::<Vec<_>>().join("/");
            let ask = |token: &str| {
                let answer = api.with(token).ask(&method.to_uppercase(), &target, "", "{}");
                let body: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
                (
                    answer.status,
                    body["errors"][0]["code"].as_u64().unwrap_or(0),
                    body["errors"][0]["message"].clone(),
                )
            };
            asked += 1;
            assert_eq!(ask("").1, 9106, "{method} {path} without a token");
            let unknown = if path.ends_with("/verify") { 1000 } else { 9109 };
            let is_user = permission.starts_with("API Tokens");
            for token in [
                "unknown",
                if is_user { &expired_user } else { &expired },
                if is_user { &distant_user } else { &distant },
                if is_user { &early_user } else { &early },
            ] {
                let (status, code, _) = ask(token);
                assert!(
                    code == unknown && matches!(status, 401 | 403),
                    "{method} {path} with {token}: {status} {code}"
                );
            }
            if permission == "any" {
                continue;
            }
            let wrong = [
                Some(&powerless),
                (!is_user).then_some(&elsewhere),
                path.contains("{zone_id}").then_some(&one_zone),
            ];
            for token in wrong.into_iter().flatten() {
                let (status, code, message) = ask(token);
                assert_eq!((status, code), (403, 9109), "{method} {path}: {message}");
                assert!(
                    message.as_str().unwrap().contains(&format!("`{permission}`")),
                    "{method} {path}: {message}"
                );
            }
            let (status, code, message) = ask(if is_user { &right_user } else { &right });
            assert!(!matches!(code, 9106 | 9109 | 6003), "{method} {path}: {status} {message}");
        }
    }
    assert!(asked > 50, "{asked} operations were asked");
}

#[test]
fn tokens_are_shown_once_changed_rolled_and_ended() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let (id, value) = token(&api, &["Zone Read"], "com.svc.api.account.*", &json!({}));
    assert!(value.starts_with("svcapi_"));
    let path = format!("/user/tokens/{id}");
    assert!(api.get(&path).get("value").is_none() && !api.get("/user/tokens").to_string().contains(&value));
    let bearer = api.with(value.as_str());
    assert_eq!(bearer.get("/user/tokens/verify")["id"], id.as_str());
    assert_eq!(bearer.get("/zones").as_array().unwrap().len(), 1);
    assert_eq!(bearer.refused("PATCH", "/zones/file.example", &json!({})), (403, vec![9109]));
    // Another value, at once.
    let rolled = api.result("PUT", &format!("{path}/value"), &json!({}));
    assert_eq!(bearer.refused("GET", "/zones", &Value::Null), (403, vec![9109]));
    let bearer = api.with(rolled.as_str().unwrap());
    assert_eq!(bearer.get("/zones").as_array().unwrap().len(), 1);
    // Other permissions, at once.
    let body =
        json!({"name": "t", "policies": [policy(&api, &["AI Gateway Read"], "com.svc.api.account.acme")]});
    api.result("PUT", &path, &body);
    assert_eq!(bearer.get("/zones").as_array().unwrap().len(), 0, "a list shows what may be read");
    assert_eq!(bearer.get("/accounts/acme/ai-gateway/gateways").as_array().unwrap().len(), 1);
    assert_eq!(bearer.refused("GET", "/accounts/other/ai-gateway/gateways", &Value::Null), (403, vec![9109]));
    let mut disabled = body;
    disabled["status"] = json!("disabled");
    assert_eq!(api.result("PUT", &path, &disabled)["status"], "disabled");
    assert_eq!(bearer.refused("GET", "/user/tokens/verify", &Value::Null), (401, vec![1000]));
    assert_eq!(api.result("DELETE", &path, &Value::Null)["id"], id.as_str());
    assert_eq!(api.refused("GET", &path, &Value::Null), (404, vec![7002]));
}

/// Nobody gives away what they do not have.
#[test]
fn a_token_makes_no_stronger_token() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let policies = json!([
        policy(&api, &["API Tokens Write"], "com.svc.api.user.*"),
        policy(&api, &["Zone Read", "Zone WAF Write"], "com.svc.api.account.acme"),
    ]);
    let made = api.post("/user/tokens", &json!({"name": "limited", "policies": policies}));
    let limited = api.with(made["value"].as_str().unwrap());
    let try_with = |names: &[&str], resource: &str| {
        let body = json!({"name": "x", "policies": [policy(&api, names, resource)]});
        limited.call("POST", "/user/tokens", &body).0
    };
    assert_eq!(try_with(&["Zone Read", "Zone WAF Read"], "com.svc.api.account.acme"), 200);
    assert_eq!(try_with(&["Zone Write"], "com.svc.api.account.acme"), 403);
    assert_eq!(try_with(&["Zone Read"], "com.svc.api.account.*"), 403);
    assert_eq!(try_with(&["Zone Read"], "com.svc.api.account.zone.*"), 403);
    assert_eq!(try_with(&["AI Gateway Read"], "com.svc.api.account.acme"), 403);
    let itself = format!("/user/tokens/{}", made["id"].as_str().unwrap());
    let body = json!({"name": "x", "policies": [policy(&api, &["Zone Write"], "com.svc.api.account.*")]});
    assert_eq!(limited.refused("PUT", &itself, &body), (403, vec![9109]));
    for body in [
        json!({"name": "x", "policies": []}),
        json!({"name": "x", "policies": [{"effect": "allow", "permission_groups": [{"id": "no"}], "resources": {"x": "*"}}]}),
        json!({"name": "x", "policies": [policy(&api, &["Zone Read"], "com.svc.api.account.*")], "expires_on": "soon"}),
        json!({"name": "x", "policies": [policy(&api, &["Zone Read"], "com.svc.api.account.*")],
            "condition": {"request_ip": {"in": ["everywhere"]}}}),
    ] {
        assert_eq!(api.call("POST", "/user/tokens", &body).0, 400, "{body}");
    }
}

/// Without a token in the configuration the first start makes one, and prints it once.
#[test]
fn the_first_start_prints_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let conf = "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\n";
    let edge = Edge::start_in(folder, conf, &[]);
    let printed = edge.stderr();
    let value =
        printed.split_whitespace().find(|word| word.starts_with("svcapi_")).expect("a token").to_owned();
    let api = Api::new(&edge, value.as_str());
    api.post("/accounts", &json!({"name": "mine"}));
    assert!(!edge.log_text().contains(&value), "it is not in the log");
    assert_eq!(api.with("").refused("GET", "/accounts", &Value::Null), (403, vec![9106]));
    edge.signal("KILL");
    let mut edge = edge;
    edge.wait_for_exit();
    let edge = edge.again();
    assert!(!edge.stderr().contains("svcapi_"), "only once");
    assert_eq!(Api::new(&edge, value).get("/accounts").as_array().unwrap().len(), 2);
}

#[test]
fn users_with_a_key_are_operators() {
    let key = ["key", "of", "a", "user"].join("-");
    let edge = Edge::start(&format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\n\
         [[admin.api_keys]]\nemail = \"a@example.com\"\napi_key = \"{key}\"\n"
    ));
    let api = Api::new(&edge, "");
    let ask = |email: &str, key: &str| {
        api.ask(
            "POST",
            "/accounts",
            &format!("X-Auth-Email: {email}\r\nX-Auth-Key: {key}\r\n"),
            r#"{"name":"n"}"#,
        )
        .status
    };
    assert_eq!(
        (ask("A@example.com", &key), ask("a@example.com", "x"), ask("b@example.com", &key)),
        (200, 403, 403)
    );
    // A token wins over a key beside it.
    let both = format!("Authorization: Bearer x\r\nX-Auth-Email: a@example.com\r\nX-Auth-Key: {key}\r\n");
    assert_eq!(api.ask("GET", "/accounts", &both, "").status, 403);
    let malformed = api.ask("GET", "/accounts", "Authorization: Token x\r\n", "");
    assert_eq!(malformed.status, 400);
    assert!(malformed.text().contains("\"error_chain\":[{\"code\":6111"), "{}", malformed.text());
    assert!(edge.stderr().is_empty(), "{}", edge.stderr());
}

/// Gateways over the API, from none to a limit and a revoked token.
#[test]
fn gateways_and_their_tokens_take_effect_on_the_next_call() {
    let chat = r#"{"id":"1","model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;
    let origin = Origin::fixed("application/json", chat);
    let (edge, api) = edge(&origin);
    let gateways = "/accounts/team/ai-gateway/gateways";
    assert_eq!(api.get(gateways), json!([]));
    let ask = |token: &str| {
        let head =
            format!("POST /v1/team/bot/openai/v1/chat/completions HTTP/1.1\r\nHost: gw.example\r\n{token}");
        let rest = "Content-Type: application/json\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"model\":\"m\"}";
        Client::once(edge.proxy[0], format!("{head}{rest}")).status
    };
    assert_eq!(ask(""), 400, "there is no such gateway");
    for body in [
        json!({"id": "a b"}),
        json!({"id": ""}),
        json!({"id": "x", "rate_limiting_limit": 5}),
        json!({"id": "x", "retry_max_attempts": 9}),
    ] {
        assert_eq!(api.call("POST", gateways, &body).0, 400, "{body}");
    }
    let made = api.post(gateways, &json!({"id": "bot", "cache_invalidate_on_update": true, "cache_ttl": null,
        "collect_logs": true, "rate_limiting_interval": null, "rate_limiting_limit": null, "authentication": true}));
    assert_eq!(
        (&made["state"], &made["cache_ttl"], &made["cache_invalidate_on_update"]),
        (&json!("authenticated gateway"), &Value::Null, &json!(true))
    );
    let path = format!("{gateways}/bot");
    assert_eq!(api.get(&path), made);
    // What is not done here is named, if somebody asks for it.
    for (wanted, named) in [(json!(false), 0), (Value::Null, 0), (json!(true), 2)] {
        let body = json!({"zdr": wanted, "logpush": wanted, "byok_only": true});
        let (status, answer) = api.call("PATCH", &path, &body);
        assert_eq!((status, answer["messages"].as_array().unwrap().len()), (200, named), "{answer}");
    }
    assert_eq!(api.refused("POST", gateways, &json!({"id": "bot"})), (409, vec![10017]));
    assert_eq!(ask(""), 401);
    let token = api.post(&format!("{path}/tokens"), &json!({"name": "ci"}));
    assert_eq!(token["permissions"], json!(["Run"]));
    let header = format!("svc-aig-authorization: Bearer {}\r\n", token["value"].as_str().unwrap());
    assert_eq!(ask(&header), 200);
    assert!(api.get(&format!("{path}/tokens"))[0].get("value").is_none());
    // The command line sees it, and makes one for a gateway that only the API knows.
    let conf = edge.folder.path().join("p.toml").display().to_string();
    let listed = run_cli(&["token", "list", "--account", "team", "--gateway", "bot", "--conf", &conf], b"");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("ci"), "{listed:?}");
    let made = run_cli(&["token", "create", "--account", "team", "--gateway", "bot", "--conf", &conf], b"");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // A limit of one call in an hour.
    let body = json!({"authentication": true, "collect_logs": true, "rate_limiting_interval": 3600, "rate_limiting_limit": 1});
    let limited = api.result("PUT", &path, &body);
    assert_eq!(
        (&limited["rate_limiting_limit"], &limited["rate_limiting_technique"]),
        (&json!(1), &json!("fixed"))
    );
    assert_eq!((ask(&header), ask(&header)), (200, 429));
    api.result("PATCH", &path, &json!({"rate_limiting_limit": null, "rate_limiting_interval": null}));
    assert_eq!(ask(&header), 200);
    let revoke = format!("{path}/tokens/{}", token["id"].as_str().unwrap());
    api.result("DELETE", &revoke, &Value::Null);
    assert_eq!(ask(&header), 401);
    assert_eq!(api.refused("DELETE", &revoke, &Value::Null), (404, vec![7002]));
    // Keys need something to be sealed with.
    let key = json!({"provider_slug": "openai", "secret": "k"});
    assert_eq!(api.refused("POST", &format!("{path}/provider_configs"), &key), (409, vec![10018]));
    assert_eq!(
        api.refused(
            "POST",
            "/accounts/team/ai-gateway/custom-providers",
            &json!({"slug": "in", "base_url": "http://127.0.0.1:1"})
        ),
        (400, vec![10008])
    );
    api.result("DELETE", &path, &Value::Null);
    assert_eq!((ask(&header), api.get(gateways)), (400, json!([])));
}

#[test]
fn a_token_sends_as_many_requests_as_is_set() {
    let edge = Edge::start(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"one\", \"two\"]\nrate_limit = 3\n",
    );
    let api = Api::new(&edge, "one");
    // All in one window of five minutes, unless the clock stands at its end.
    let mut answers = Vec::new();
    while answers.iter().filter(|status| **status == 429).count() < 2 {
        let answer = api.ask("GET", "/user", "", "");
        let limit = (answer.header("x-ratelimit-limit"), answer.header("ratelimit-policy"));
        assert_eq!(limit, (Some("3"), Some("\"default\";q=3;w=300")));
        if answer.status == 429 {
            assert!(answer.header("retry-after").unwrap().parse::<u32>().unwrap() <= 300);
            assert_eq!(answer.header("x-should-retry"), None, "it may be sent again");
            assert!(answer.text().contains("\"code\":10100"), "{}", answer.text());
        }
        answers.push(answer.status);
    }
    assert!(answers.ends_with(&[200, 200, 200, 429, 429]), "{answers:?}");
    assert_eq!(api.with("two").ask("GET", "/user", "", "").status, 200);
}

/// What else a gateway can be told.
#[test]
fn settings_of_gateways_take_effect_on_the_next_call() {
    let origin = Origin::fixed("application/json", r#"{"id":"1","model":"m","choices":[]}"#);
    let (edge, api) = edge(&origin);
    api.post("/accounts/team/ai-gateway/gateways", &json!({"id": "bot", "authentication": false}));
    let (path, header) = ("/accounts/team/ai-gateway/gateways/bot", "");
    let ask = || {
        let head = "POST /v1/team/bot/openai/v1/chat/completions HTTP/1.1\r\nHost: gw.example\r\n";
        let rest = "Content-Type: application/json\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"model\":\"m\"}";
        Client::once(edge.proxy[0], format!("{head}{rest}")).status
    };
    // Limits of money by team, what is kept, what is scanned for.
    let budget = json!({"limits": [{"measure": "cost", "by": ["metadata.team"], "limit": 0.5, "interval": 86400, "technique": "fixed"}],
        "sensitive_data": {"requests": "block"}, "waf_paranoia_level": 2, "heartbeat": 5000, "collect_log_payloads": false});
    let shown = api.result("PATCH", path, &budget);
    assert_eq!((&shown["limits"], &shown["waf_paranoia_level"]), (&budget["limits"], &json!(2)));
    assert_eq!(shown["sensitive_data"], json!({"requests": "block", "responses": "off"}));
    assert_eq!(ask(), 400, "a call without a price has no place in a budget of money");
    let card = ["4111", "1111", "1111", "1111"].join(" ");
    api.result("PATCH", path, &json!({"limits": []}));
    let body =
        format!("{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":\"card {card}\"}}]}}");
    let blocked = Client::once(
        edge.proxy[0],
        format!(
            "POST /v1/team/bot/openai/v1/chat/completions HTTP/1.1\r\nHost: gw.example\r\n{header}Content-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ),
    );
    assert!((400..500).contains(&blocked.status) && blocked.header("svc-aig-dlp").is_some(), "{blocked:?}");
    for wrong in [
        json!({"limits": [{"measure": "moons", "limit": -1, "by": ["x"]}]}),
        json!({"sensitive_data": {"responses": "hold"}}),
        json!({"waf_paranoia_level": 5}),
        json!({"log_payload_bytes": 1_000_000}),
    ] {
        assert_eq!(api.call("PATCH", path, &wrong).0, 400, "{wrong}");
    }
    assert_eq!(api.call("POST", "/accounts/a.b/ai-gateway/gateways", &json!({"id": "x"})).0, 404);
}

/// Standard error of an edge until it serves, or ends.
fn first_words(folder: &std::path::Path, conf: &str) -> (std::process::Child, String) {
    use std::io::Read;
    std::fs::write(folder.join("p.toml"), conf).unwrap();
    let mut child = std::process::Command::new(BINARY)
        .args(["run", "--conf", "p.toml"])
        .current_dir(folder)
        .stdout(std::process::Stdio::piped())
        .stderr(std::fs::File::create(folder.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let mut log = child.stdout.take().unwrap();
    let (mut seen, mut byte) = (Vec::new(), [0; 1]);
    while !(seen.ends_with(b"\n") && String::from_utf8_lossy(&seen).contains("server_started")) {
        match log.read(&mut byte) {
            Ok(1) => seen.push(byte[0]),
            _ => break,
        }
    }
    (child, std::fs::read_to_string(folder.join("stderr")).unwrap())
}

#[test]
fn the_first_token_is_told_once_by_an_edge_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let conf = |port: u16| {
        format!("[[listeners]]\naddress = \"127.0.0.1:{port}\"\n[admin]\naddress = \"127.0.0.1:0\"\n")
    };
    // One whose port is taken ends, and has made none that nobody heard of.
    let (mut child, words) = first_words(folder.path(), &conf(taken.local_addr().unwrap().port()));
    assert!(!child.wait().unwrap().success() && !words.contains("shown once"), "{words}");
    let (mut child, words) = first_words(folder.path(), &conf(0));
    let words: Vec<&str> = words.split_whitespace().collect();
    let token = words.iter().find(|word| word.starts_with("svcapi_")).unwrap_or_else(|| panic!("{words:?}"));
    let address = words.iter().find_map(|word| word.strip_prefix("http://")).unwrap();
    let authorization = format!("Authorization: Bearer {token}\r\n");
    let verify = "GET /client/v4/user/tokens/verify HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n";
    let answer = Client::once(address.parse().unwrap(), format!("{verify}{authorization}\r\n"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (mut child, words) = first_words(folder.path(), &conf(0));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!words.contains("svcapi_"), "{words}");
}
