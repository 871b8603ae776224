//! Rules that people write: `block`, `log` and `skip`, in every place and form.

use serde_json::{Value, json};

use crate::api::{REQUESTS, RESPONSES, TOKEN, edge, execute, managed, zone};
use crate::support::{Api, Client, Edge, Origin, run_cli, wait_for};

const CUSTOM: &str = "http_request_firewall_custom";
const ATTACK: &str = "/shop?q=1'%20UNION%20SELECT%20password%20FROM%20users--";

fn entry_point(owner: &str, phase: &str) -> String {
    format!("{owner}/rulesets/phases/{phase}/entrypoint")
}

fn rule(action: &str, expression: &str, parameters: &Value) -> Value {
    json!({"action": action, "expression": expression, "action_parameters": parameters})
}

/// Security events of a zone, the oldest first: action, source and reference.
fn told(api: &Api, zone: &str, count: usize) -> Vec<(String, String, String)> {
    let path = format!("/zones/{zone}/security/events");
    let list = wait_for("the events", || {
        let list = api.get(&path).as_array().unwrap().clone();
        (list.len() >= count).then_some(list)
    });
    let text = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
    list.iter()
        .rev()
        .map(|event| (text(event, "Action"), text(event, "Source"), text(event, "Ref")))
        .collect()
}

#[test]
fn a_request_is_blocked_with_the_answer_of_the_rule_or_told_and_let_go() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let path = entry_point(&format!("/zones/{id}"), CUSTOM);
    let own = json!({"response": {"status_code": 418, "content": "{\"tea\":true}", "content_type": "application/json"}});
    let mut log = rule("log", "http.request.method eq \"POST\"", &Value::Null);
    log["ref"] = json!("posts");
    let mut plain = rule("block", "http.request.uri.path contains \"/private\"", &Value::Null);
    plain["ref"] = json!("private");
    plain["description"] = json!("nothing to see");
    let rules = json!({"rules": [log, plain, rule("block", "http.user_agent contains \"teapot\"", &own)]});
    let put = api.result("PUT", &path, &rules);
    assert_eq!(put["rules"][2]["action_parameters"], own, "it is shown as it was written");
    assert_eq!(api.get(&path), put);
    let send = |method: &str, target: &str, fields: &str, body: &str| {
        let length = body.len();
        let head = format!("{method} {target} HTTP/1.1\r\nHost: a.example\r\nAccept: text/html\r\n{fields}");
        Client::once(
            edge.proxy[0],
            format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"),
        )
    };
    assert_eq!(send("GET", "/", "", "").status, 200);
    let blocked = send("GET", "/private/x", "", "");
    assert_eq!((blocked.status, blocked.header("content-type")), (403, Some("text/html; charset=utf-8")));
    let tea = send("GET", "/", "User-Agent: teapot/1\r\n", "");
    assert_eq!((tea.status, tea.header("content-type")), (418, Some("application/json")));
    assert_eq!((tea.text().as_str(), tea.header("cache-control")), ("{\"tea\":true}", Some("no-store")));
    let head = "HEAD / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: teapot\r\n\r\n";
    assert_eq!(Client::connect(edge.proxy[0]).send(head).head().unwrap().status, 418);
    // What is told goes on with its body whole, and is told once more if it is blocked behind that.
    let before = origin.requests().len();
    let body = "x".repeat(100_000);
    assert_eq!(send("POST", "/", "", &body).status, 200);
    assert_eq!(origin.last().body.len(), body.len());
    // An event is written when its request ends, which may be after the client has its answer.
    assert_eq!(told(&api, &id, 4).len(), 4);
    assert_eq!(send("POST", "/private", "", &body).status, 403);
    assert_eq!(origin.requests().len(), before + 1, "nothing of what is blocked leaves");
    let event = |action: &str, reference: &str| {
        (action.to_owned(), "firewallcustom".to_owned(), reference.to_owned())
    };
    let told = told(&api, &id, 6);
    assert_eq!(told.len(), 6, "{told:?}");
    let teapot = put["rules"][2]["ref"].as_str().unwrap();
    assert_eq!(told[..3], [event("block", "private"), event("block", teapot), event("block", teapot)]);
    assert_eq!(told[3..], [event("log", "posts"), event("log", "posts"), event("block", "private")]);
    let ray = blocked.header("svc-ray").unwrap();
    let log = edge.events().iter().map(|event| format!("{event}\n")).collect::<String>();
    let why = String::from_utf8(run_cli(&["waf", "why", ray], log.as_bytes()).stdout).unwrap();
    assert!(why.contains("rule private of ruleset") && why.contains("nothing to see"), "{why}");
    assert!(why.contains("http.request.uri.path: /private/x"), "{why}");
    let events = api.get(&format!("/zones/{id}/security/events?reference=private"));
    assert_eq!(events[0]["values"], json!({"http.request.uri.path": "/private"}), "{events}");
    assert_eq!(
        (&events[0]["Service"], &events[0]["Description"]),
        (&json!("Custom Rules"), &json!("nothing to see"))
    );
    assert_eq!((&events[0]["EdgeResponseStatus"], &events[0]["RulesetID"]), (&json!(403), &put["id"]));
}

#[test]
fn rules_are_passed_over_as_far_as_a_skip_says() {
    let origin = Origin::fixed("text/html", "<p>card number 4111 1111 1111 1111</p>");
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    let (owasp, leaks) = (managed(&api, REQUESTS), managed(&api, RESPONSES));
    let level_1 =
        ["2", "3", "4"].map(|level| json!({"category": format!("paranoia-level-{level}"), "enabled": false}));
    let mut judge = execute(&owasp);
    judge["action_parameters"]["overrides"] = json!({"categories": level_1});
    api.result("PUT", &entry_point(&owner, REQUESTS), &json!({"rules": [judge]}));
    api.result("PUT", &entry_point(&owner, RESPONSES), &json!({"rules": [execute(&leaks)]}));
    let rules = api.get(&format!("/accounts/acme/rulesets/{owasp}"))["rules"].as_array().unwrap().clone();
    let sql: Vec<&Value> = rules
        .iter()
        .filter(|rule| rule["categories"].to_string().contains("sql"))
        .map(|rule| &rule["id"])
        .collect();
    assert!(!sql.is_empty());
    let status = |target: &str| Client::get(edge.proxy[0], "a.example", target).status;
    assert_eq!(status(ATTACK), 403);
    let block = rule("block", "http.request.uri.path contains \"/b\"", &Value::Null);
    let is = |path: &str| format!("http.request.uri.path eq \"{path}\"");
    let skips = |parameters: Value, path: &str| rule("skip", &is(path), &parameters);
    api.result(
        "PUT",
        &entry_point(&owner, CUSTOM),
        &json!({"rules": [
            skips(json!({"ruleset": "current"}), "/b/current"),
            skips(json!({"phases": [REQUESTS]}), "/phase"),
            skips(json!({"phases": [CUSTOM, REQUESTS]}), "/b/both"),
            skips(json!({"rulesets": [owasp]}), "/ruleset"),
            skips(json!({"rules": {&owasp: sql}}), "/rules"),
            skips(json!({"rulesets": [leaks]}), "/leak"),
            block,
        ]}),
    );
    let query = ATTACK.split_once('?').unwrap().1;
    for (path, plain, attacked) in [
        ("/b", 403, 403),
        ("/b/current", 200, 403),
        ("/phase", 200, 200),
        ("/b/both", 200, 200),
        ("/ruleset", 200, 200),
        ("/rules", 200, 200),
        ("/leak", 200, 403),
        ("/phase/no", 200, 403),
    ] {
        assert_eq!((status(path), status(&format!("{path}?{query}"))), (plain, attacked), "{path}");
    }
    // Another attack on the path whose rules against SQL do not run.
    assert_eq!(status("/rules?f=../../../../etc/passwd"), 403);
    // The same within the managed phase, which is what an exclusion is.
    let exclusion = rule("skip", &is("/shop"), &json!({"rules": {&owasp: sql}}));
    api.result("PUT", &entry_point(&owner, REQUESTS), &json!({"rules": [exclusion, judge]}));
    assert_eq!((status(ATTACK), status(&ATTACK.replace("/shop", "/else"))), (200, 403));
    assert_eq!(status("/shop?f=../../../../etc/passwd"), 403);
    let leaked = |path: &str| {
        let events = api.get(&format!("{owner}/security/events?source=dlp&path={path}"));
        events.as_array().unwrap().len()
    };
    wait_for("the leaks to be told", || (leaked("/rules") == 1 && leaked("/ruleset") == 1).then_some(()));
    assert_eq!(leaked("/leak"), 0);
}

#[test]
fn rules_of_an_account_come_first_and_their_skips_pass_over_rules_of_accounts_alone() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let status = |target: &str| Client::get(edge.proxy[0], "a.example", target).status;
    let answers =
        |code: u16| json!({"response": {"status_code": code, "content": "no", "content_type": "text/plain"}});
    let first = entry_point("/accounts/acme", CUSTOM);
    let skip = |word: &str, parameters: Value| {
        rule("skip", &format!("http.request.uri.query contains \"{word}\""), &parameters)
    };
    let rules = json!({"rules": [
        skip("mine", json!({"ruleset": "current"})),
        skip("all", json!({"phases": [CUSTOM]})),
        rule("block", "true", &answers(410)),
    ]});
    api.result("PUT", &first, &rules);
    api.result(
        "PUT",
        &entry_point(&format!("/zones/{id}"), CUSTOM),
        &json!({"rules": [rule("block", "true", &answers(451))]}),
    );
    assert_eq!((status("/"), status("/?mine"), status("/?all")), (410, 451, 451));
    // What a skip says is told, but for one that says it is not.
    let mut quiet = rules["rules"].clone();
    quiet[1]["logging"] = json!({"enabled": false});
    let put = api.result("PUT", &first, &json!({"rules": quiet}));
    assert_eq!(put["rules"][1]["logging"], json!({"enabled": false}));
    assert_eq!(status("/?all"), 451);
    let actions: Vec<String> = told(&api, &id, 6).into_iter().map(|(action, ..)| action).collect();
    assert_eq!(actions, ["block", "skip", "block", "skip", "block", "block"]);
}

#[test]
fn what_an_action_does_not_take_is_refused_with_its_place() {
    let origin = Origin::echo();
    let (_edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let path = entry_point(&format!("/zones/{id}"), CUSTOM);
    let response = |code: u16, kind: &str| json!({"response": {"status_code": code, "content": "x", "content_type": kind}});
    for (rule, pointer) in [
        (rule("execute", "true", &json!({"id": managed(&api, REQUESTS)})), "/rules/0/action_parameters/id"),
        (rule("rewrite", "true", &Value::Null), "/rules/0/action"),
        (rule("skip", "true", &Value::Null), "/rules/0/action_parameters"),
        (rule("skip", "true", &json!({"ruleset": "other"})), "/rules/0/action_parameters"),
        (rule("skip", "true", &json!({"rulesets": ["no"]})), "/rules/0/action_parameters/id"),
        (rule("skip", "true", &json!({"phases": ["no"]})), "/rules/0/action_parameters/phases/0"),
        (rule("skip", "true", &json!({"rules": ["no"]})), "/rules/0/action_parameters/rules"),
        (
            rule("block", "true", &response(200, "text/plain")),
            "/rules/0/action_parameters/response/status_code",
        ),
        (rule("block", "true", &response(403, "text/css\r\nx: y")), "/rules/0/action_parameters"),
        (rule("block", "true", &json!({"response": {}})), "/rules/0/action_parameters/response/content"),
        (rule("log", "true", &json!({"ruleset": "current"})), "/rules/0/action_parameters"),
        (rule("block", "http.response.code eq 200", &Value::Null), "/rules/0/expression"),
    ] {
        let (status, answer) = api.call("PUT", &path, &json!({"rules": [rule]}));
        assert_eq!(
            (status, &answer["errors"][0]["source"]["pointer"]),
            (400, &json!(pointer)),
            "{rule} {answer}"
        );
    }
    assert_eq!(api.refused("GET", &path, &Value::Null), (404, vec![10003]), "nothing of it is kept");
}

#[test]
fn a_file_declares_them_and_says_what_it_does_not_take() {
    let origin = Origin::echo();
    let conf = |rules: &str| {
        format!(
            "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
             [[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[[zones.rulesets]]\nphase = \"{CUSTOM}\"\nkind = \"root\"\n{rules}[zones.waf]\n",
            origin.url()
        )
    };
    let edge = Edge::start(&conf(
        "[[zones.rulesets.rules]]\naction = \"skip\"\nexpression = 'http.request.uri.path eq \"/shop\"'\n\
         action_parameters = { phases = [\"http_request_firewall_managed\"] }\n\
         [[zones.rulesets.rules]]\naction = \"block\"\nexpression = 'http.request.uri.path eq \"/no\"'\n\
         action_parameters = { response = { status_code = 404, content = \"\", content_type = \"text/plain\" } }\n",
    ));
    let status = |target: &str| Client::get(edge.proxy[0], "a.example", target).status;
    assert_eq!((status(ATTACK), status(&ATTACK.replace("/shop", "/else")), status("/no")), (200, 403, 404));
    let shown = Api::new(&edge, TOKEN).get(&entry_point("/zones/a.example", CUSTOM));
    assert_eq!(shown["kind"], "zone", "whatever the file says");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.toml");
    let check = |rules: &str| {
        std::fs::write(&path, conf(rules)).unwrap();
        let output = std::process::Command::new(crate::support::BINARY)
            .args(["check", "--conf"])
            .arg(&path)
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
    };
    let found = check("[[zones.rulesets.rules]]\naction = \"skip\"\n");
    assert!(
        found.contains("needs `action_parameters` with `ruleset`") && found.contains("p.toml:"),
        "{found}"
    );
    let found =
        check("[[zones.rulesets.rules]]\naction = \"block\"\naction_parameters = { colour = \"red\" }\n");
    assert!(found.contains("unknown field `colour`"), "{found}");
}

#[test]
fn what_explain_suggests_can_be_posted_and_lets_that_request_pass_alone() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let path = entry_point(&format!("/zones/{id}"), REQUESTS);
    let mut judge = execute(&managed(&api, REQUESTS));
    let levels =
        ["2", "3", "4"].map(|level| json!({"category": format!("paranoia-level-{level}"), "enabled": false}));
    judge["action_parameters"]["overrides"] = json!({"categories": levels});
    for target in ["/shop", "//a%22b/%5Cc/./d"].map(|path| ATTACK.replace("/shop", path)) {
        api.result("PUT", &path, &json!({"rules": [judge]}));
        let request = format!("GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n");
        let shown = run_cli(&["waf", "explain", "--request", "-"], request.as_bytes());
        let shown = String::from_utf8(shown.stdout).unwrap();
        let line =
            shown.lines().map(str::trim).find(|line| line.starts_with('{') && line.contains("\"skip\""));
        let mut rule: Value = serde_json::from_str(line.unwrap_or_else(|| panic!("{shown}"))).unwrap();
        rule["position"] = json!({"index": 1});
        let ruleset = api.get(&path)["id"].as_str().unwrap().to_owned();
        let status = |target: &str| Client::get(edge.proxy[0], "a.example", target).status;
        assert_eq!(status(&target), 403);
        api.post(&format!("/zones/{id}/rulesets/{ruleset}/rules"), &rule);
        assert_eq!((status(&target), status(&target.replace('?', "/x?"))), (200, 403), "{rule}");
    }
}

#[test]
fn what_rules_add_counts_towards_the_threshold_of_managed_rules() {
    let origin = Origin::echo();
    let (edge, api) = edge(&origin);
    let id = zone(&api, "a.example", &origin);
    let owner = format!("/zones/{id}");
    let from = |agent: &str| format!("http.user_agent eq \"{agent}\"");
    let rules = json!({"rules": [
        rule("score", &from("odd"), &json!({"increment": 3})),
        rule("score", &from("odd"), &json!({"increment": 1})),
        rule("score", &from("bad"), &json!({"increment": 5})),
    ]});
    api.result("PUT", &entry_point(&owner, CUSTOM), &rules);
    let send = |agent: &str, target: &str, body: &str| {
        let length = body.len();
        let head = format!("POST {target} HTTP/1.1\r\nHost: a.example\r\nUser-Agent: {agent}\r\n");
        let form = "Content-Type: application/x-www-form-urlencoded\r\n";
        let request = format!("{head}{form}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        Client::once(edge.proxy[0], request).status
    };
    assert_eq!(send("bad", "/", ""), 200, "there is no sum to add to");
    let managed = managed(&api, REQUESTS);
    let deploy = |action: &str, threshold: u32| {
        let rules = api.get(&format!("/accounts/acme/rulesets/{managed}"));
        let last = rules["rules"].as_array().unwrap().last().unwrap()["id"].clone();
        let mut run = execute(&managed);
        run["action_parameters"]["overrides"] =
            json!({"rules": [{"id": last, "action": action, "score_threshold": threshold}]});
        api.result("PUT", &entry_point(&owner, REQUESTS), &json!({"rules": [run]}));
    };
    deploy("block", 5);
    // An attack scores 5 and more by itself.
    let attack = "q=1'%20UNION%20SELECT%20password%20FROM%20users--";
    for (agent, expected) in [("plain", 200), ("odd", 200), ("bad", 403)] {
        origin.forget();
        assert_eq!((send(agent, "/", "a=b"), send(agent, "/", attack)), (expected, 403), "{agent}");
        assert_eq!(origin.requests().len(), usize::from(expected == 200));
    }
    deploy("block", 9);
    assert_eq!(
        (send("bad", "/", "a=b"), send("odd", "/", attack), send("bad", "/", attack)),
        (200, 403, 403)
    );
    deploy("managed_challenge", 5);
    let request = "GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: bad\r\nConnection: close\r\n\r\n";
    let challenged = Client::once(edge.proxy[0], request);
    assert_eq!((challenged.status, challenged.header("svc-mitigated")), (403, Some("challenge")));
    deploy("log", 5);
    assert_eq!(send("bad", "/logged", "a=b"), 200);
    let event = wait_for("the event of the threshold", || {
        let list = api.get(&format!("{owner}/security/events?action=log"));
        list.as_array()?.iter().find(|event| event["ClientRequestPath"] == "/logged").cloned()
    });
    assert_eq!(event["Source"], "firewallmanaged", "{event}");
    for increment in [0, 101, -5] {
        let rules = json!({"rules": [rule("score", "true", &json!({"increment": increment}))]});
        let (status, answer) = api.call("PUT", &entry_point(&owner, CUSTOM), &rules);
        let pointer = &answer["errors"][0]["source"]["pointer"];
        assert_eq!((status, pointer), (400, &json!("/rules/0/action_parameters/increment")), "{answer}");
    }
}
