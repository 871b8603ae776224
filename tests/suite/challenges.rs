//! Challenges as clients without a browser see them: who gets a page, what a solution is worth, and to whom.

use base64::Engine as _;
use challenge::Puzzle;
use serde_json::{Value, json};

use crate::api::{REQUESTS, edge, execute, managed, zone};
use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, Response, certificate, curl, refused_by_check, wait_for};

const CUSTOM: &str = "http_request_firewall_custom";
const ATTACK: &str = "/shop?q=1'%20UNION%20SELECT%20password%20FROM%20users--";
pub(crate) const SOLUTION: &str = "/.well-known/svc-challenge";
const BROWSER: &str = "Accept: text/html\r\nUser-Agent: browser/1\r\n";

/// An edge whose file has these zones, with puzzles that take no time, from behind a proxy on this machine.
pub(crate) fn edge_of(zones: &str, challenges: &str) -> Edge {
    Edge::start(&format!(
        "trusted_proxies = [\"127.0.0.0/8\"]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n\
         [admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"api\"]\n[challenges]\ndifficulty = 1\n{challenges}\n{zones}"
    ))
}

/// A zone that challenges what a path begins with.
pub(crate) fn challenging(name: &str, origin: &Origin, rules: &[(&str, &str)]) -> String {
    let rules: String = rules
        .iter()
        .map(|(action, expression)| format!("{{ action = \"{action}\", expression = '{expression}' }},"))
        .collect();
    format!(
        "[[zones]]\nname = \"{name}\"\norigins = [\"{}\"]\nrulesets = [{{ phase = \"{CUSTOM}\", rules = [{rules}] }}]\n",
        origin.url()
    )
}

fn ask(edge: &Edge, request_line: &str, host: &str, fields: &str, body: &str) -> Response {
    let length = body.len();
    let request = format!(
        "{request_line} HTTP/1.1\r\nHost: {host}\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    Client::once(edge.proxy[0], request)
}

fn get(edge: &Edge, target: &str, fields: &str) -> Response {
    ask(edge, &format!("GET {target}"), "a.example", fields, "")
}

/// The puzzle of a page.
fn puzzle(page: &Response) -> String {
    assert_eq!((page.status, page.header("svc-mitigated")), (403, Some("challenge")), "{}", page.text());
    let text = page.text();
    let (_, puzzle) = text.split_once("\"puzzle\":\"").unwrap();
    puzzle.split_once('"').unwrap().0.to_owned()
}

/// Sends the solution of a page; the cookie that it is worth.
fn solve(edge: &Edge, page: &Response, fields: &str) -> String {
    let solution = Puzzle::solve(&puzzle(page)).unwrap();
    let solved = ask(edge, &format!("POST {SOLUTION}"), "a.example", fields, &solution);
    assert_eq!(solved.status, 204, "{}", solved.text());
    let cookie = solved.header("set-cookie").unwrap();
    assert!(
        cookie.ends_with("; HttpOnly; SameSite=Lax") && cookie.contains("; Path=/; Max-Age="),
        "{cookie}"
    );
    cookie.split_once(';').unwrap().0.to_owned()
}

fn with_cookie(fields: &str, cookie: &str) -> String {
    format!("{fields}Cookie: theme=dark; {cookie}; a=b\r\n")
}

#[test]
fn browsers_get_a_page_programs_an_error_and_who_solved_goes_on() {
    let origin = Origin::echo();
    let rules = [
        ("js_challenge", "starts_with(http.request.uri.path, \"/js\")"),
        ("managed_challenge", "starts_with(http.request.uri.path, \"/managed\")"),
        ("challenge", "starts_with(http.request.uri.path, \"/click\")"),
        ("block", "http.request.uri.path contains \"private\""),
    ];
    let edge = edge_of(&challenging("a.example", &origin, &rules), "");
    let targets = ["/js", "/managed?x", "/click"];
    for target in targets {
        let program = get(&edge, target, "Accept: application/json\r\n");
        assert_eq!((program.status, program.header("svc-mitigated")), (403, Some("challenge")));
        assert_eq!(program.header("content-type"), Some("application/json"));
        let error: Value = serde_json::from_slice(&program.body).unwrap();
        assert!(error["errors"][0]["message"].as_str().unwrap().contains("only browsers"), "{error}");
        let page = get(&edge, target, BROWSER);
        assert_eq!(page.header("cache-control"), Some("no-store"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"), "{policy}");
        assert!(page.text().contains(page.header("svc-ray").unwrap()));
        assert_eq!(page.text().contains("\"click\":true"), target == "/click");
        let head = Client::connect(edge.proxy[0])
            .send(format!("HEAD {target} HTTP/1.1\r\nHost: a.example\r\n{BROWSER}\r\n"))
            .head()
            .unwrap();
        assert_eq!((head.status, head.header("svc-mitigated")), (403, Some("challenge")));
    }
    assert_eq!(origin.requests().len(), 0, "nothing of this left");
    // A clearance holds for what asks as much or less.
    for (nth, solved_at) in targets.into_iter().enumerate() {
        let cookie = solve(&edge, &get(&edge, solved_at, BROWSER), BROWSER);
        let fields = with_cookie(BROWSER, &cookie);
        for (other, target) in targets.into_iter().enumerate() {
            let expected = if other <= nth { 200 } else { 403 };
            assert_eq!(get(&edge, target, &fields).status, expected, "{solved_at} {target}");
        }
        let blocked = get(&edge, "/js/private", &fields);
        assert_eq!(
            (blocked.status, blocked.header("svc-mitigated")),
            (403, None),
            "the rules behind it stand"
        );
        assert_eq!(get(&edge, SOLUTION, &fields).status, 200, "the origin has this path but for solutions");
    }
    for (action, result) in [
        ("js_challenge", "issued"),
        ("js_challenge", "solved"),
        ("challenge", "passed"),
        ("managed_challenge", "passed"),
    ] {
        let series = format!(
            "portcullis_challenges_total{{action=\"{action}\",result=\"{result}\",zone=\"a.example\"}}"
        );
        assert!(edge.metric(&series) > 0.0, "{series}");
    }
    assert!(edge.metrics().contains("verdict=\"challenge\""));
}

#[test]
fn a_clearance_is_of_its_visitor_and_its_zone() {
    let origin = Origin::echo();
    let rules = [("managed_challenge", "true")];
    let zones =
        [challenging("a.example", &origin, &rules), challenging("b.example", &origin, &rules)].concat();
    let edge = edge_of(&zones, "");
    let from = |address: &str| format!("{BROWSER}X-Forwarded-For: {address}\r\n");
    let home = from("192.0.2.7");
    let page = get(&edge, "/", &home);
    let cookie = solve(&edge, &page, &home);
    let status = |edge: &Edge, host: &str, fields: &str| ask(edge, "GET /", host, fields, "").status;
    let (name, value) = cookie.split_once('=').unwrap();
    let with = |fields: &str, value: &str| with_cookie(fields, &format!("{name}={value}"));
    let (head, tag) = value.split_at(value.len() - 4);
    let forged = format!("{head}{}", if tag == "aaaa" { "bbbb" } else { "aaaa" });
    for (what, host, fields, expected) in [
        ("as it is", "a.example", with(&home, value), 200),
        ("on another host of the zone", "www.a.example", with(&home, value), 200),
        ("from the same network", "a.example", with(&from("192.0.2.200"), value), 200),
        ("from another network", "a.example", with(&from("192.0.3.7"), value), 403),
        ("of another zone", "b.example", with(&home, value), 403),
        ("of another browser", "a.example", with(&home.replace("browser/1", "curl/8"), value), 403),
        ("truncated", "a.example", with(&home, &value[..value.len() - 1]), 403),
        ("with more behind it", "a.example", with(&home, &format!("{value}a")), 403),
        ("forged", "a.example", with(&home, &forged), 403),
        ("empty", "a.example", with(&home, ""), 403),
        (
            "under another name",
            "a.example",
            with_cookie(&home, &format!("svc_clearance_request={value}")),
            403,
        ),
        ("of the other kind beside it", "a.example", with_cookie(&home, &format!("{name}=x; {cookie}")), 200),
    ] {
        assert_eq!(status(&edge, host, &fields), expected, "{what}");
    }
}

#[test]
fn nodes_with_the_same_keys_take_each_others_clearances_and_solutions() {
    let origin = Origin::echo();
    let keys = tempfile::tempdir().unwrap();
    let key_file = |name: &str, text: &str| {
        let path = keys.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("key_file = {path:?}")
    };
    let (one, two) = ("0a".repeat(32), "0b".repeat(32));
    let zones = challenging("a.example", &origin, &[("managed_challenge", "true")]);
    let edge = edge_of(&zones, &key_file("one", &one));
    let home = format!("{BROWSER}X-Forwarded-For: 192.0.2.7\r\n");
    let cookie = solve(&edge, &get(&edge, "/", &home), &home);
    // Another node with the same keys, one that has changed them since, and one with keys of its own.
    let nodes = [
        (edge_of(&zones, &key_file("same", &format!("{one}\n"))), 200),
        (edge_of(&zones, &key_file("changed", &format!("{two}\n{one}\n"))), 200),
        (edge_of(&zones, &key_file("other", &two)), 403),
        (edge_of(&zones, ""), 403),
    ];
    for (node, expected) in &nodes {
        assert_eq!(get(node, "/", &with_cookie(&home, &cookie)).status, *expected);
    }
    // A page of one node is solved at another; sent twice, its solution is worth the same.
    let solution = Puzzle::solve(&puzzle(&get(&edge, "/", &home))).unwrap();
    let post = |edge: &Edge, fields: &str, body: &str| {
        ask(edge, &format!("POST {SOLUTION}"), "a.example", fields, body)
    };
    let cookies = [&edge, &nodes[0].0, &edge].map(|edge| {
        let solved = post(edge, &home, &solution);
        solved.header("set-cookie").unwrap().split_once(';').unwrap().0.to_owned()
    });
    assert!(cookies.iter().all(|cookie| *cookie == cookies[0]));
    let wrong = format!("{}.{}", puzzle(&get(&edge, "/", &home)), ["4294967295"; 16].join(","));
    for (edge, fields, body, expected) in [
        (&nodes[2].0, &home, solution.as_str(), 403),
        (&edge, &home.replace("192.0.2", "198.51.100"), &solution, 403),
        (&edge, &home, &wrong, 403),
        (&edge, &home, "", 403),
        (&edge, &home, &"9".repeat(2000), 413),
    ] {
        assert_eq!(post(edge, fields, body).status, expected, "{body:.40}");
    }
    let refused = refused_by_check(&format!("[challenges]\n{}\n{zones}", key_file("bad", "short")));
    assert!(refused.contains("64 hex digits"), "{refused}");
    let refused = refused_by_check(&format!("[challenges]\nclearance = \"5m\"\ndifficulty = 40\n{zones}"));
    assert!(refused.contains("15m to 24h") && refused.contains("1 to 20"), "{refused}");
}

#[test]
fn the_threshold_of_managed_rules_can_challenge_and_clears_one_request() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owasp = managed(&api, REQUESTS);
    let ruleset = api.get(&format!("/accounts/acme/rulesets/{owasp}"));
    let last = ruleset["rules"].as_array().unwrap().last().unwrap()["id"].clone();
    let path = format!("/zones/{id}/rulesets/phases/{REQUESTS}/entrypoint");
    let overrides = |overrides: Value| {
        let mut rule = execute(&owasp);
        rule["action_parameters"]["overrides"] = overrides;
        api.result("PUT", &path, &json!({"rules": [rule]}));
    };
    for action in ["js_challenge", "managed_challenge", "challenge"] {
        for of in [json!({"action": action}), json!({"rules": [{"id": last, "action": action}]})] {
            overrides(of);
            origin.forget();
            assert_eq!(get(&edge, "/shop?q=shoes", BROWSER).status, 200);
            let page = get(&edge, ATTACK, BROWSER);
            let cookie = solve(&edge, &page, BROWSER);
            assert!(cookie.starts_with("svc_clearance_request="), "{cookie}");
            let fields = with_cookie(BROWSER, &cookie);
            assert_eq!(get(&edge, ATTACK, &fields).status, 200, "{action}");
            // What was cleared is this request, not whatever else its sender attacks with.
            for other in [format!("{ATTACK}x"), ATTACK.replace("/shop", "/")] {
                assert_eq!(get(&edge, &other, &fields).header("svc-mitigated"), Some("challenge"));
            }
            let post = ask(&edge, &format!("POST {ATTACK}"), "a.example", &fields, "");
            assert_eq!(post.header("svc-mitigated"), Some("challenge"));
            assert_eq!(origin.requests().len(), 2);
        }
    }
    // What the zone's own rules were solved for clears no attack.
    let custom =
        json!({"rules": [{"action": "js_challenge", "expression": "http.request.uri.path eq \"/in\""}]});
    api.result("PUT", &format!("/zones/{id}/rulesets/phases/{CUSTOM}/entrypoint"), &custom);
    let cookie = solve(&edge, &get(&edge, "/in", BROWSER), BROWSER);
    assert_eq!(get(&edge, "/in", &with_cookie(BROWSER, &cookie)).status, 200);
    assert_eq!(get(&edge, ATTACK, &with_cookie(BROWSER, &cookie)).header("svc-mitigated"), Some("challenge"));
    let events = wait_for("the events", || {
        let events = api.get(&format!("/zones/{id}/security/events?per_page=100"));
        let actions: Vec<String> = events
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["Action"].as_str().unwrap().to_owned())
            .collect();
        ["js_challenge", "managed_challenge", "challenge", "log"]
            .iter()
            .all(|action| actions.iter().any(|told| told == action))
            .then_some(events)
    });
    let challenged = events.as_array().unwrap().iter().find(|event| event["Action"] == "challenge").unwrap();
    assert_eq!((&challenged["Source"], &challenged["RuleID"]), (&json!("firewallmanaged"), &last));
    assert_eq!(challenged["EdgeResponseStatus"], 403);
}

#[test]
fn a_form_is_in_the_page_only_if_a_page_of_the_site_sent_it() {
    let origin = Origin::echo();
    let edge = edge_of(&challenging("a.example", &origin, &[("js_challenge", "true")]), "");
    let body = "name=%3C%2Fscript%3E&x=\"</script>";
    let form = |fields: &str, body: &str| {
        let fields = format!("{BROWSER}Content-Type: application/x-www-form-urlencoded\r\n{fields}");
        let page = ask(&edge, "POST /form", "a.example", &fields, body);
        let text = page.text();
        let (_, data) = text.split_once("id=\"data\">").unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        data["form"].clone()
    };
    let own = form("Origin: http://a.example\r\nSec-Fetch-Site: same-origin\r\n", body);
    let held = base64::engine::general_purpose::STANDARD.decode(own["body"].as_str().unwrap()).unwrap();
    assert_eq!(held, body.as_bytes());
    let long = "x=".to_owned() + &"y".repeat(1 << 20);
    for (fields, body) in [
        ("", body),
        ("Origin: http://evil.example\r\n", body),
        ("Origin: http://a.example\r\nSec-Fetch-Site: cross-site\r\n", body),
        ("Origin: http://a.example\r\n", &long),
    ] {
        assert_eq!(form(fields, body), json!({"lost": true}), "{fields:?}");
    }
    assert!(get(&edge, "/", BROWSER).text().contains("\"form\":null"));
    assert_eq!(origin.requests().len(), 0);
}

#[test]
fn a_rate_can_be_answered_with_a_challenge_which_lets_go_on() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let rate = json!({"characteristics": ["ip.src"], "period": 60, "requests_per_period": 2, "mitigation_timeout": 0});
    let rules = json!({"rules": [{"action": "managed_challenge", "expression": "true", "ratelimit": rate}]});
    api.result("PUT", &format!("/zones/{id}/rulesets/phases/http_ratelimit/entrypoint"), &rules);
    for expected in [200, 200, 403] {
        assert_eq!(get(&edge, "/", BROWSER).status, expected);
    }
    let cookie = solve(&edge, &get(&edge, "/", BROWSER), BROWSER);
    for _ in 0..5 {
        assert_eq!(get(&edge, "/", &with_cookie(BROWSER, &cookie)).status, 200);
    }
    let refused = api.refused(
        "PUT",
        &format!("/zones/{id}/rulesets/phases/http_request_transform/entrypoint"),
        &json!({"rules": [{"action": "challenge", "expression": "true"}]}),
    );
    assert_eq!(refused.0, 400);
}

#[test]
fn a_network_that_is_challenged_time_and_again_is_asked_more() {
    let origin = Origin::echo();
    let edge = edge_of(&challenging("a.example", &origin, &[("managed_challenge", "true")]), "");
    let asked = |address: &str| {
        let page = get(&edge, "/", &format!("{BROWSER}X-Forwarded-For: {address}\r\n"));
        let text = page.text();
        let (_, bits) = text.split_once("\"bits\":").unwrap();
        (bits.split_once(',').unwrap().0.parse::<u8>().unwrap(), text.contains("\"click\":true"))
    };
    let efforts: Vec<_> = (0..120).map(|nth| asked(&format!("192.0.2.{nth}"))).collect();
    let expected = |nth: usize| match nth {
        0..20 => (1, false),
        20..100 => (3, true),
        _ => (5, true),
    };
    assert!(efforts.iter().enumerate().all(|(nth, effort)| *effort == expected(nth)), "{efforts:?}");
    assert_eq!(asked("198.51.100.1"), (1, false), "others are asked as before");
}

#[test]
fn over_http2_a_challenge_is_the_same_and_its_cookie_is_for_tls_alone() {
    let (origin, folder) = (Origin::echo(), tempfile::tempdir().unwrap());
    certificate(folder.path(), "a", &["a.example"]);
    let zones = challenging("a.example", &origin, &[("js_challenge", "true")]);
    let edge = Edge::start_in(
        folder,
        &format!("{}[challenges]\ndifficulty = 1\n{zones}", tls_listener(&["a"])),
        &[],
    );
    let port = edge.proxy[0].port();
    let (url, resolve) = (format!("https://a.example:{port}"), format!("a.example:{port}:127.0.0.1"));
    let ask = |arguments: &[&str]| {
        let common = ["-sk", "--http2", "--resolve", &resolve, "-A", "browser/1", "-H", "accept: text/html"];
        curl(&[&common[..], arguments].concat())
    };
    let (status, page) = ask(&[&format!("{url}/x")]);
    assert_eq!(status, 403, "{page}");
    let puzzle = page.split_once("\"puzzle\":\"").unwrap().1.split_once('"').unwrap().0;
    let solution = Puzzle::solve(puzzle).unwrap();
    let (status, head) = ask(&["-D", "-", "--data", &solution, &format!("{url}{SOLUTION}")]);
    assert_eq!(status, 204, "{head}");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.trim().ends_with("; HttpOnly; Secure; SameSite=None"), "{cookie}");
    let cookie = cookie.split_once(';').unwrap().0;
    assert_eq!(ask(&["-b", cookie, "--data", "a=b", &format!("{url}/x")]), (200, "a=b".to_owned()));
}

#[test]
fn a_clearance_lasts_as_long_as_is_set() {
    let origin = Origin::echo();
    for (setting, seconds) in [("", 1800), ("clearance = \"2h\"", 7200)] {
        let edge = edge_of(&challenging("a.example", &origin, &[("js_challenge", "true")]), setting);
        let solution = Puzzle::solve(&puzzle(&get(&edge, "/", BROWSER))).unwrap();
        let solved = ask(&edge, &format!("POST {SOLUTION}"), "a.example", BROWSER, &solution);
        let cookie = solved.header("set-cookie").unwrap();
        let lasts: u64 = cookie.split_once("Max-Age=").unwrap().1.split_once(';').unwrap().0.parse().unwrap();
        assert!((seconds - 60..=seconds).contains(&lasts), "{cookie}");
    }
}
