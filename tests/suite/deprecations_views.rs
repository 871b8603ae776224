//! Operations that end, over the resources that took their place: what is written in one form is read in the other.

use serde_json::{Value, json};

use crate::deprecations::{Caller, Ids, edge};
use crate::support::{Api, Client, Edge, Origin};

/// A caller of the last day of most operations that end.
fn old(api: &Api, day: &str) -> Caller {
    Caller { api: api.clone(), day: Some(day.to_owned()) }
}

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

#[test]
fn settings_mirror_dns_settings_in_any_order_of_writes() {
    let (_edge, api, Ids { zone, .. }) = edge("");
    let zone = format!("/zones/{zone}");
    let settings = format!("{zone}/dns_settings");
    let mut random = Random(0x5eed);
    let mut writes = 0;
    for (path, field, day, off) in [
        ("settings/cname_flattening", "flatten_all_cnames", "2025-03-20", "apex"),
        ("dns_settings/use_apex_ns", "multi_provider", "2024-09-12", "off"),
        ("dns_settings/secondary_overrides", "secondary_overrides", "2024-09-12", "off"),
    ] {
        let (path, caller) = (format!("{zone}/{path}"), old(&api, day));
        let mut is_on = false;
        for _ in 0..40 {
            if random.below(3) > 0 {
                is_on = random.below(2) == 0;
                if random.below(2) == 0 {
                    let word = if is_on { "on" } else { random.of(&["off", off]) };
                    caller.result("PATCH", &path, &json!({"value": word}));
                } else {
                    api.result("PATCH", &settings, &json!({field: is_on}));
                }
                writes += 1;
            }
            let shown = caller.result("GET", &path, &Value::Null);
            assert_eq!(shown["value"], if is_on { "on" } else { off }, "{path}");
            assert_eq!(api.get(&settings)[field], is_on, "{path}");
        }
    }
    assert!(writes > 60, "{writes}");
}

#[test]
fn account_settings_mirror_defaults_in_any_order_of_writes() {
    let (_edge, api, Ids { account, .. }) = edge("");
    let account = format!("/accounts/{account}");
    let mut random = Random(0xacc);
    let mut writes = 0;
    let caller = old(&api, "2025-03-13");
    let kinds = ["svc.standard", "svc.standard.random", "custom.account", "custom.tenant"];
    let mut kind = "custom.account";
    for _ in 0..60 {
        let body = |settings: Value| json!({"name": "a", "settings": settings});
        match random.below(4) {
            0 => {
                kind = random.of(&kinds);
                let sets = json!({"zone_defaults": {"nameservers": {"type": kind}}});
                api.result("PATCH", &format!("{account}/dns_settings"), &sets);
            }
            1 => {
                kind = random.of(&kinds);
                caller.result("PUT", &account, &body(json!({"default_nameservers": kind})));
            }
            2 => {
                let are_of_account = random.below(2) == 0;
                kind = match (are_of_account, kind) {
                    (true, _) => "custom.account",
                    (false, "custom.account") => "svc.standard",
                    (false, other) => other,
                };
                let sets = json!({"use_account_custom_ns_by_default": are_of_account});
                caller.result("PUT", &account, &body(sets));
            }
            _ => drop(caller.result("PUT", &account, &body(json!({})))),
        }
        writes += 1;
        let defaults = &api.get(&format!("{account}/dns_settings"))["zone_defaults"];
        assert_eq!(defaults["nameservers"]["type"], kind);
        let shown = caller.result("GET", &account, &Value::Null)["settings"].clone();
        assert_eq!(
            (&shown["default_nameservers"], &shown["use_account_custom_ns_by_default"]),
            (&json!(kind), &json!(kind == "custom.account"))
        );
    }
    assert_eq!(writes, 60);
    for (body, pointer) in [
        (json!({"name": "a", "settings": {"default_nameservers": "none"}}), "/settings/default_nameservers"),
        (
            json!({"name": "a", "settings": {"use_account_custom_ns_by_default": "x"}}),
            "/settings/use_account_custom_ns_by_default",
        ),
    ] {
        let (answer, value) = caller.ask("PUT", &account, &body);
        assert_eq!(
            (answer.status, &value["errors"][0]["source"]["pointer"]),
            (400, &json!(pointer)),
            "{value}"
        );
    }
}

#[test]
fn destinations_mirror_the_domains_of_applications() {
    let (_edge, api, ids) = edge("");
    let caller = old(&api, "2025-11-20");
    let mut random = Random(7);
    for owner in [format!("/accounts/{}", ids.account), format!("/zones/{}", ids.zone)] {
        let apps = format!("{owner}/access/apps");
        let made =
            api.post(&apps, &json!({"name": "a", "destinations": [{"type": "public", "uri": "a.example"}]}));
        assert_eq!(made.get("self_hosted_domains"), None);
        let app = format!("{apps}/{}", made["id"].as_str().unwrap());
        let uris = ["a.example", "b.example/x", "*.c.example"];
        let mut expected: Vec<(&str, &str)> = vec![("public", "a.example")];
        for _ in 0..50 {
            let count = random.below(3);
            let chosen: Vec<&str> = (0..count).map(|_| random.of(&uris)).collect();
            let list: Vec<(&str, &str)> =
                chosen.iter().map(|uri| (random.of(&["public", "private"]), *uri)).collect();
            let destinations: Vec<Value> =
                list.iter().map(|(kind, uri)| json!({"type": kind, "uri": uri})).collect();
            match random.below(3) {
                0 => {
                    caller.result("PUT", &app, &json!({"name": "a", "self_hosted_domains": chosen}));
                    expected = chosen.iter().map(|uri| ("public", *uri)).collect();
                }
                1 => {
                    let both = json!({"name": "a", "self_hosted_domains": ["ignored.example", ""], "destinations": destinations});
                    caller.result("PUT", &app, &both);
                    expected = list;
                }
                _ => {
                    api.result("PUT", &app, &json!({"name": "a", "destinations": destinations}));
                    expected = list;
                }
            }
            let shown = caller.result("GET", &app, &Value::Null);
            let public: Vec<&str> =
                expected.iter().filter(|(kind, _)| *kind == "public").map(|(_, uri)| *uri).collect();
            assert_eq!(shown["self_hosted_domains"], json!(public));
            let now = api.get(&app);
            let all: Vec<Value> =
                expected.iter().map(|(kind, uri)| json!({"type": kind, "uri": uri})).collect();
            assert_eq!((&now["destinations"], now.get("self_hosted_domains")), (&json!(all), None));
        }
        let listed = caller.result("GET", &apps, &Value::Null);
        assert_eq!(listed[0], caller.result("GET", &app, &Value::Null));
        for (body, pointer) in [
            (json!({"destinations": [{"uri": "a"}]}), "/name"),
            (json!({"name": "a", "destinations": [{"type": "secret", "uri": "a"}]}), "/destinations/0/type"),
            (json!({"name": "a", "destinations": [{"type": "public"}]}), "/destinations/0/uri"),
            (json!({"name": "a", "self_hosted_domains": ["a", ""]}), "/self_hosted_domains/1"),
            (json!({"name": "a", "type": "bookmark"}), "/type"),
        ] {
            let (_, value) = caller.ask("POST", &apps, &body);
            assert_eq!(value["errors"][0]["source"]["pointer"], pointer, "{value}");
        }
        api.result("DELETE", &app, &Value::Null);
        assert_eq!(api.refused("GET", &app, &Value::Null), (404, vec![7002]));
    }
    // An application is its owner's.
    let apps = format!("/zones/{}/access/apps", ids.zone);
    let made = api.post(&apps, &json!({"name": "z"}));
    let id = made["id"].as_str().unwrap();
    let of_account = format!("/accounts/{}/access/apps", ids.account);
    assert_eq!(api.get(&of_account), json!([]));
    assert_eq!(api.refused("PUT", &format!("{of_account}/{id}"), &json!({"name": "x"})), (404, vec![7002]));
    api.result("DELETE", &format!("/zones/{}", ids.zone), &Value::Null);
    assert_eq!(api.call("GET", &format!("{apps}/{id}"), &Value::Null).0, 404, "it goes with its zone");
}

/// A custom rule as a model knows it.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    id: String,
    expression: String,
    action: &'static str,
    description: String,
    enabled: bool,
}

/// Actions in the old form, and what they are now.
fn new_action(old: &str) -> (Value, Value) {
    match old {
        "allow" => (json!("skip"), json!({"ruleset": "current"})),
        "bypass" => (json!("skip"), json!({"phases": ["http_request_firewall_managed", "http_ratelimit"]})),
        other => (json!(other), Value::Null),
    }
}

const ACTIONS: [&str; 7] =
    ["block", "challenge", "js_challenge", "managed_challenge", "allow", "log", "bypass"];

fn with_action(mut body: Value, action: &str) -> Value {
    body["action"] = json!(action);
    if action == "bypass" {
        body["products"] = json!(["waf", "rateLimit"]);
    }
    body
}

#[test]
#[expect(clippy::too_many_lines, reason = "one walk beside its model")]
fn firewall_rules_mirror_custom_rules_in_any_order_of_writes() {
    let (_edge, api, ids) = edge("");
    let zone = format!("/zones/{}", ids.zone);
    let (rules, filters) = (format!("{zone}/firewall/rules"), format!("{zone}/filters"));
    let entry_point = format!("{zone}/rulesets/phases/http_request_firewall_custom/entrypoint");
    let ruleset = api.result("PUT", &entry_point, &json!({"rules": []}))["id"].as_str().unwrap().to_owned();
    let of_ruleset = format!("{zone}/rulesets/{ruleset}/rules");
    let caller = old(&api, "2025-06-14");
    let mut random = Random(99);
    let mut model: Vec<Rule> = Vec::new();
    let expressions =
        ["ip.src eq 192.0.2.1", "http.host eq \"a\" and ssl", "true", "http.request.uri.path contains \"é\""];
    let mut writes = [0; 6];
    for nth in 0..120 {
        let rule = Rule {
            id: String::new(),
            expression: random.of(&expressions).to_owned(),
            action: random.of(&ACTIONS),
            description: format!("rule {nth}"),
            enabled: random.below(2) == 0,
        };
        let old_body = with_action(
            json!({"filter": {"expression": rule.expression}, "description": rule.description, "paused": !rule.enabled}),
            rule.action,
        );
        let (action, parameters) = new_action(rule.action);
        let new_body = json!({"action": action, "action_parameters": parameters, "expression": rule.expression,
            "description": rule.description, "enabled": rule.enabled});
        let kind = if model.is_empty() { random.below(2) } else { random.below(6) };
        let place = random.below(model.len().max(1));
        match kind {
            0 => {
                let made = caller.result("POST", &rules, &json!([old_body]));
                let id = made[0]["id"].as_str().unwrap().to_owned();
                model.push(Rule { id, ..rule });
            }
            1 => {
                let made = api.post(&of_ruleset, &new_body);
                let id = made["rules"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
                model.push(Rule { id, ..rule });
            }
            2 => {
                let id = model[place].id.clone();
                caller.result("PUT", &format!("{rules}/{id}"), &old_body);
                model[place] = Rule { id, ..rule };
            }
            3 => {
                let id = model[place].id.clone();
                api.result("PATCH", &format!("{of_ruleset}/{id}"), &new_body);
                model[place] = Rule { id, ..rule };
            }
            4 => {
                let id = model.remove(place).id;
                caller.result("DELETE", &format!("{rules}/{id}?delete_filter_if_unused=true"), &Value::Null);
            }
            _ => {
                // Priorities are places.
                let moved = model.remove(place);
                let to = random.below(model.len() + 1);
                caller.result("PATCH", &rules, &json!([{"id": moved.id, "priority": to + 1}]));
                model.insert(to, moved);
            }
        }
        writes[kind] += 1;
        let now = api.get(&entry_point)["rules"].clone();
        let found: Vec<(Value, Value, Value, Value, Value, Value)> = now
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| {
                let of = |name: &str| rule[name].clone();
                (
                    of("id"),
                    of("expression"),
                    of("action"),
                    of("action_parameters"),
                    of("description"),
                    of("enabled"),
                )
            })
            .collect();
        let expected: Vec<_> = model
            .iter()
            .map(|rule| {
                let (action, parameters) = new_action(rule.action);
                (
                    json!(rule.id),
                    json!(rule.expression),
                    action,
                    parameters,
                    json!(rule.description),
                    json!(rule.enabled),
                )
            })
            .collect();
        assert_eq!(found, expected, "after {kind}");
        let shown = caller.result("GET", &format!("{rules}?per_page=100"), &Value::Null);
        let found: Vec<(Value, Value, Value, Value, Value, Value)> = shown
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| {
                let of = |name: &str| rule[name].clone();
                let expression = rule["filter"]["expression"].clone();
                (of("id"), expression, of("action"), of("description"), of("paused"), of("priority"))
            })
            .collect();
        let expected: Vec<_> = model
            .iter()
            .enumerate()
            .map(|(nth, rule)| {
                (
                    json!(rule.id),
                    json!(rule.expression),
                    json!(rule.action),
                    json!(rule.description),
                    json!(!rule.enabled),
                    json!(nth + 1),
                )
            })
            .collect();
        assert_eq!(found, expected, "after {kind}");
        let listed = caller.result("GET", &format!("{filters}?per_page=100"), &Value::Null);
        assert_eq!(listed.as_array().unwrap().len(), model.len());
    }
    assert!(writes.iter().all(|count| *count > 5), "{writes:?}");
    // What the old form has no words for is left out, and said to be.
    let count = model.len();
    api.post(
        &of_ruleset,
        &json!({"action": "skip", "action_parameters": {"phases": ["http_request_late_transform"]}, "expression": "ssl"}),
    );
    let (_, value) = caller.ask("GET", &rules, &Value::Null);
    assert_eq!(value["result_info"]["total_count"], count);
    assert!(value["messages"].to_string().contains("1 rule is left out"), "{value}");
    // The error of a rule that is gone names its successor.
    let (answer, value) =
        Caller { api: api.clone(), day: None }.ask("GET", &format!("{rules}/{}", model[0].id), &Value::Null);
    let successor = format!("/client/v4{of_ruleset}/{}", model[0].id);
    assert_eq!(answer.header("link").map(|link| link.contains("rel=\"deprecation\"")), Some(true));
    assert!(
        answer.status == 410 && value["errors"][0]["message"].as_str().unwrap().contains(&successor),
        "{value}"
    );
    assert_eq!(
        api.get(successor.strip_prefix("/client/v4").unwrap().rsplit_once("/rules/").unwrap().0)["id"],
        ruleset.as_str()
    );
}

#[test]
fn filters_are_made_used_and_left_as_they_were() {
    let (_edge, api, ids) = edge("");
    let zone = format!("/zones/{}", ids.zone);
    let (rules, filters) = (format!("{zone}/firewall/rules"), format!("{zone}/filters"));
    let caller = old(&api, "2025-06-14");
    let made = caller.result(
        "POST",
        &filters,
        &json!([{"expression": "ssl", "description": "tls"}, {"expression": "not ssl"}]),
    );
    let id = |nth: usize| made[nth]["id"].as_str().unwrap();
    assert_eq!(caller.result("GET", &rules, &Value::Null), json!([]), "filters alone are no rules");
    let rule = caller.result("POST", &rules, &json!([{"action": "block", "filter": {"id": id(0)}}]));
    assert_eq!(
        (&rule[0]["id"], &rule[0]["filter"]["expression"], &rule[0]["paused"]),
        (&json!(id(0)), &json!("ssl"), &json!(false))
    );
    // A second rule with the same filter has a filter of its own.
    let second = caller.result("POST", &rules, &json!([{"action": "log", "filter": {"id": id(0)}}]));
    assert_ne!(second[0]["id"], id(0));
    assert_eq!(second[0]["filter"]["expression"], "ssl");
    let (answer, value) = caller.ask("DELETE", &format!("{filters}/{}", id(0)), &Value::Null);
    assert_eq!((answer.status, &value["errors"][0]["code"]), (409, &json!(10_017)), "{value}");
    caller.result(
        "PUT",
        &format!("{filters}/{}", id(0)),
        &json!({"id": id(0), "expression": "ssl or not ssl", "paused": true}),
    );
    let shown = caller.result("GET", &format!("{rules}/{}", id(0)), &Value::Null);
    assert_eq!((&shown["filter"]["expression"], &shown["paused"]), (&json!("ssl or not ssl"), &json!(true)));
    // A rule that goes leaves its filter, which can then go.
    caller.result("DELETE", &format!("{rules}/{}", id(0)), &Value::Null);
    assert_eq!(
        caller.result("GET", &format!("{filters}/{}", id(0)), &Value::Null)["expression"],
        "ssl or not ssl"
    );
    assert_eq!(caller.ask("GET", &format!("{rules}/{}", id(0)), &Value::Null).0.status, 404);
    caller.result("DELETE", &format!("{filters}?id={}&id={}", id(0), id(1)), &Value::Null);
    assert_eq!(caller.result("GET", &filters, &Value::Null).as_array().unwrap().len(), 1);
}

#[test]
fn mistakes_in_rules_and_filters_have_places() {
    let (_edge, api, ids) = edge("");
    let zone = format!("/zones/{}", ids.zone);
    let (rules, filters) = (format!("{zone}/firewall/rules"), format!("{zone}/filters"));
    let caller = old(&api, "2025-06-14");
    let unknown = "00000000000000000000000000000000";
    for (method, path, body, status, pointer) in [
        ("POST", rules.clone(), json!([{"action": "block"}]), 400, "/0/filter"),
        ("POST", rules.clone(), json!([{"filter": {"expression": "ssl"}}]), 400, "/0/action"),
        (
            "POST",
            rules.clone(),
            json!([{"action": "burn", "filter": {"expression": "ssl"}}]),
            400,
            "/0/action",
        ),
        (
            "POST",
            rules.clone(),
            json!([{"action": "block", "filter": {"expression": "ssl and"}}]),
            400,
            "/0/filter/expression",
        ),
        (
            "POST",
            rules.clone(),
            json!([{"action": "bypass", "products": ["hot"], "filter": {"expression": "ssl"}}]),
            400,
            "/0/products/0",
        ),
        (
            "POST",
            rules.clone(),
            json!([{"action": "bypass", "filter": {"expression": "ssl"}}]),
            400,
            "/0/products",
        ),
        ("POST", filters.clone(), json!([{"expression": "ssl"}, {"expression": ""}]), 400, "/1/expression"),
        ("POST", filters.clone(), json!([5]), 400, "/0"),
        ("POST", filters.clone(), json!(vec![json!({"expression": "ssl"}); 1_001]), 400, ""),
        ("DELETE", rules.clone(), Value::Null, 400, ""),
        ("DELETE", format!("{rules}/{unknown}"), Value::Null, 404, ""),
        ("PUT", format!("{filters}/{unknown}"), json!({"expression": "ssl"}), 404, ""),
        ("POST", rules, json!([{"action": "block", "filter": {"id": unknown}}]), 404, ""),
    ] {
        let (answer, value) = caller.ask(method, &path, &body);
        let found = value["errors"][0]["source"]["pointer"].as_str().unwrap_or("");
        assert_eq!((answer.status, found), (status, pointer), "{method} {path} {body}: {value}");
    }
    assert_eq!(caller.result("GET", &filters, &Value::Null), json!([]), "refused lists change nothing");
}

/// An edge whose zone has an origin.
fn served() -> (Edge, Api, String, Origin) {
    let origin = Origin::fixed("text/plain", "fine");
    let (edge, api, ids) = edge("");
    let made = api.post(
        "/zones",
        &json!({"name": "shop.example", "account": {"id": ids.account}, "origins": [origin.url()]}),
    );
    let zone = format!("/zones/{}", made["id"].as_str().unwrap());
    (edge, api, zone, origin)
}

fn status(edge: &Edge, target: &str) -> u16 {
    Client::get(edge.proxy[0], "shop.example", target).status
}

const ATTACK: &str = "?q=1'%20UNION%20SELECT%20password%20FROM%20users--";

#[test]
fn what_is_written_in_the_old_form_is_done() {
    let (edge, api, zone, _origin) = served();
    let caller = old(&api, "2025-06-14");
    let rule = json!([{"action": "block", "filter": {"expression": "http.request.uri.path eq \"/secret\""}}]);
    caller.result("POST", &format!("{zone}/firewall/rules"), &rule);
    assert_eq!((status(&edge, "/secret"), status(&edge, "/")), (403, 200));
    let limit = json!({"match": {"request": {"url": "shop.example/login*"}}, "threshold": 2, "period": 60,
        "action": {"mode": "ban", "timeout": 60, "response": {"content_type": "text/plain", "body": "slow"}}});
    caller.result("POST", &format!("{zone}/rate_limits"), &limit);
    let found: Vec<u16> = (0..4).map(|_| status(&edge, "/login?x=1")).collect();
    assert_eq!((found, status(&edge, "/other")), (vec![200, 200, 429, 429], 200));
    let packages = format!("{zone}/firewall/waf/packages");
    let package = caller.result("GET", &packages, &Value::Null)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(status(&edge, &format!("/a{ATTACK}")), 200, "it is off");
    let package = format!("{packages}/{package}");
    let set = |body: Value| caller.result("PATCH", &package, &body);
    assert_eq!(set(json!({"sensitivity": "high", "action_mode": "block"}))["sensitivity"], "high");
    // At `high` the sum must reach 25, which one attack does not: that is what the calendar's words mean.
    let entry_point = format!("{zone}/rulesets/phases/http_request_firewall_managed/entrypoint");
    let rules = api.get(&entry_point)["rules"].clone();
    let id = rules[0]["id"].as_str().unwrap();
    let ruleset = api.get(&entry_point)["id"].as_str().unwrap().to_owned();
    let strict = json!({"action": "execute", "expression": "true", "enabled": true,
        "action_parameters": {"id": rules[0]["action_parameters"]["id"]}});
    api.result("PATCH", &format!("{zone}/rulesets/{ruleset}/rules/{id}"), &strict);
    assert_eq!(caller.result("GET", &package, &Value::Null)["sensitivity"], "high", "5 is `high` too");
    assert_eq!(status(&edge, &format!("/a{ATTACK}")), 403);
    assert_eq!(set(json!({"action_mode": "simulate"}))["action_mode"], "simulate");
    assert_eq!(status(&edge, &format!("/a{ATTACK}")), 200);
    assert_eq!(set(json!({"action_mode": "block", "sensitivity": "high"}))["action_mode"], "block");
    assert_eq!(status(&edge, &format!("/a{ATTACK}")), 403, "`high` stayed what it was");
    // All rules off for some URLs, by groups.
    let groups = caller.result("GET", &format!("{package}/groups?per_page=100"), &Value::Null);
    let all: serde_json::Map<String, Value> = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["id"].as_str().unwrap().to_owned(), json!("disable")))
        .collect();
    let made = caller.result(
        "POST",
        &format!("{zone}/firewall/waf/overrides"),
        &json!({"urls": ["shop.example/upload*"], "groups": all, "description": "uploads"}),
    );
    assert_eq!(status(&edge, &format!("/upload{ATTACK}")), 200, "{made}");
    assert_eq!(status(&edge, &format!("/a{ATTACK}")), 403);
    let one = format!("{zone}/firewall/waf/overrides/{}", made["id"].as_str().unwrap());
    assert_eq!(caller.result("GET", &one, &Value::Null), made);
    let paused = json!({"urls": made["urls"], "rules": made["rules"], "paused": true});
    assert_eq!(caller.result("PUT", &one, &paused)["paused"], true);
    assert_eq!(status(&edge, &format!("/upload{ATTACK}")), 403, "it is paused");
    caller.result("DELETE", &one, &Value::Null);
    assert_eq!(caller.result("GET", &format!("{zone}/firewall/waf/overrides"), &Value::Null), json!([]));
    assert_eq!(set(json!({"sensitivity": "off"}))["sensitivity"], "off");
    assert_eq!(status(&edge, &format!("/a{ATTACK}")), 200);
}

#[test]
fn packages_mirror_overrides() {
    let (_edge, api, ids) = edge("");
    let zone = format!("/zones/{}", ids.zone);
    let caller = old(&api, "2025-06-14");
    let packages = format!("{zone}/firewall/waf/packages");
    let package = caller.result("GET", &packages, &Value::Null)[0].clone();
    let id = package["id"].as_str().unwrap();
    let one = format!("{packages}/{id}");
    let entry_point = format!("{zone}/rulesets/phases/http_request_firewall_managed/entrypoint");
    assert_eq!(api.refused("GET", &entry_point, &Value::Null), (404, vec![10_003]), "reading makes nothing");
    for (sensitivity, threshold) in [("low", 60), ("medium", 40), ("high", 25)] {
        caller.result("PATCH", &one, &json!({"sensitivity": sensitivity}));
        let rule = api.get(&entry_point)["rules"][0].clone();
        let overrides = &rule["action_parameters"]["overrides"]["rules"][0];
        assert_eq!(
            (&rule["enabled"], &overrides["score_threshold"]),
            (&json!(true), &json!(threshold)),
            "{rule}"
        );
        assert_eq!(caller.result("GET", &one, &Value::Null)["sensitivity"], sensitivity);
    }
    for (mode, action) in [("simulate", "log"), ("challenge", "managed_challenge"), ("block", "block")] {
        assert_eq!(caller.result("PATCH", &one, &json!({"action_mode": mode}))["action_mode"], mode);
        let rule = api.get(&entry_point)["rules"][0].clone();
        assert_eq!(rule["action_parameters"]["overrides"]["rules"][0]["action"], action);
    }
    let rules = caller.result("GET", &format!("{one}/rules?per_page=1000"), &Value::Null);
    let managed = api.get(&format!("{zone}/rulesets/{id}"))["rules"].clone();
    assert_eq!(rules.as_array().unwrap().len(), managed.as_array().unwrap().len());
    let groups = caller.result("GET", &format!("{one}/groups?per_page=100"), &Value::Null);
    let mut random = Random(3);
    let (mut changed_groups, mut changed_rules) = (0, 0);
    for _ in 0..40 {
        let mode = random.of(&["on", "off"]);
        if random.below(2) == 0 {
            let group = &groups[random.below(groups.as_array().unwrap().len())];
            let path = format!("{one}/groups/{}", group["id"].as_str().unwrap());
            let shown = caller.result("PATCH", &path, &json!({"mode": mode}));
            assert_eq!((&shown["mode"], &shown["name"]), (&json!(mode), &group["name"]));
            assert_eq!(caller.result("GET", &path, &Value::Null), shown);
            let overrides = api.get(&entry_point)["rules"][0]["action_parameters"]["overrides"].clone();
            let of_category = overrides["categories"].as_array().and_then(|categories| {
                categories.iter().find(|category| category["category"] == group["name"]).cloned()
            });
            assert_eq!(
                of_category.is_some_and(|found| found["enabled"] == false),
                mode == "off",
                "{overrides}"
            );
            changed_groups += 1;
        } else {
            let rule = &rules[random.below(rules.as_array().unwrap().len())];
            let path = format!("{one}/rules/{}", rule["id"].as_str().unwrap());
            assert_eq!(caller.result("PATCH", &path, &json!({"mode": mode}))["mode"], mode);
            let overrides = api.get(&entry_point)["rules"][0]["action_parameters"]["overrides"].clone();
            let own = overrides["rules"]
                .as_array()
                .unwrap()
                .iter()
                .find(|own| own["id"] == rule["id"])
                .unwrap()
                .clone();
            assert_eq!(own["enabled"], mode == "on", "{overrides}");
            changed_rules += 1;
        }
    }
    assert!(changed_groups > 10 && changed_rules > 10);
}

#[test]
fn mistakes_in_packages_have_places() {
    let (_edge, api, ids) = edge("");
    let zone = format!("/zones/{}", ids.zone);
    let caller = old(&api, "2025-06-14");
    let packages = format!("{zone}/firewall/waf/packages");
    let package = caller.result("GET", &packages, &Value::Null)[0].clone();
    let one = format!("{packages}/{}", package["id"].as_str().unwrap());
    let rules = caller.result("GET", &format!("{one}/rules?per_page=1"), &Value::Null);
    let groups = caller.result("GET", &format!("{one}/groups?per_page=1"), &Value::Null);
    for (path, body, pointer) in [
        (one.clone(), json!({"sensitivity": "extreme"}), "/sensitivity"),
        (one.clone(), json!({"action_mode": "burn"}), "/action_mode"),
        (format!("{one}/groups/{}", groups[0]["id"].as_str().unwrap()), json!({"mode": "half"}), "/mode"),
        (format!("{one}/groups/{}", groups[0]["id"].as_str().unwrap()), json!({}), "/mode"),
    ] {
        let (answer, value) = caller.ask("PATCH", &path, &body);
        assert_eq!(
            (answer.status, &value["errors"][0]["source"]["pointer"]),
            (400, &json!(pointer)),
            "{value}"
        );
    }
    for path in [format!("{packages}/none"), format!("{one}/groups/none"), format!("{one}/rules/none")] {
        assert_eq!(caller.ask("GET", &path, &Value::Null).0.status, 404, "{path}");
    }
    let overrides = format!("{zone}/firewall/waf/overrides");
    for (body, pointer) in [
        (json!({"rules": {"none": "disable"}}), "/urls"),
        (json!({"urls": ["a"], "rules": {"none": "disable"}}), "/rules/none"),
        (json!({"urls": ["a"], "rules": {rules[0]["id"].as_str().unwrap(): "block"}}), "/rules"),
        (json!({"urls": ["a"]}), "/rules"),
    ] {
        let (answer, value) = caller.ask("POST", &overrides, &body);
        let found = value["errors"][0]["source"]["pointer"].as_str().unwrap();
        assert!(answer.status == 400 && found.starts_with(pointer), "{value}");
    }
}

#[test]
fn rate_limits_mirror_rate_limiting_rules_in_any_order_of_writes() {
    let (_edge, api, ids) = edge("");
    let zone = format!("/zones/{}", ids.zone);
    let (limits, caller) = (format!("{zone}/rate_limits"), old(&api, "2025-06-14"));
    let entry_point = format!("{zone}/rulesets/phases/http_ratelimit/entrypoint");
    let modes = [
        ("simulate", "log"),
        ("ban", "block"),
        ("challenge", "challenge"),
        ("js_challenge", "js_challenge"),
        ("managed_challenge", "managed_challenge"),
    ];
    let mut random = Random(41);
    let mut model: Vec<(String, Value)> = Vec::new();
    let mut writes = [0; 4];
    for _ in 0..80 {
        let (mode, action) = random.of(&modes);
        let url = random.of(&["*", "example.com/a*", "*.example.com", "example.com/\"x\" and y"]);
        let (threshold, period) = (random.below(50) + 1, random.below(600) + 1);
        let written = json!({"disabled": random.below(2) == 0, "description": "d", "bypass": [],
            "match": {"request": {"methods": random.of(&[&["GET", "POST"][..], &["_ALL_"]]), "schemes": [random.of(&["HTTPS", "_ALL_"])], "url": url},
                "response": {"origin_traffic": false}},
            "threshold": threshold, "period": period, "action": {"mode": mode, "timeout": 30}});
        let kind = if model.is_empty() { 0 } else { random.below(4) };
        let place = random.below(model.len().max(1));
        match kind {
            0 => {
                let made = caller.result("POST", &limits, &written);
                model.push((made["id"].as_str().unwrap().to_owned(), written));
            }
            1 => {
                caller.result("PUT", &format!("{limits}/{}", model[place].0), &written);
                model[place].1 = written;
            }
            2 => {
                // The new form: another action and threshold.
                let ruleset = api.get(&entry_point);
                let mut rule = ruleset["rules"][place].clone();
                rule["action"] = json!(action);
                rule["ratelimit"]["requests_per_period"] = json!(threshold);
                let path =
                    format!("{zone}/rulesets/{}/rules/{}", ruleset["id"].as_str().unwrap(), model[place].0);
                api.result("PATCH", &path, &rule);
                model[place].1["action"]["mode"] = json!(mode);
                model[place].1["threshold"] = json!(threshold);
            }
            _ => {
                let (id, _) = model.remove(place);
                caller.result("DELETE", &format!("{limits}/{id}"), &Value::Null);
            }
        }
        writes[kind] += 1;
        let shown = caller.result("GET", &format!("{limits}?per_page=100"), &Value::Null);
        let expected: Vec<Value> = model
            .iter()
            .map(|(id, limit)| {
                let mut limit = limit.clone();
                limit["id"] = json!(id);
                limit
            })
            .collect();
        assert_eq!(shown, json!(expected), "after {kind}");
        let rules = api.get(&entry_point)["rules"].clone();
        for (rule, (id, limit)) in rules.as_array().unwrap().iter().zip(&model) {
            let action = modes.iter().find(|(mode, _)| limit["action"]["mode"] == *mode).unwrap().1;
            assert_eq!((&rule["id"], &rule["action"]), (&json!(id), &json!(action)));
            assert_eq!(rule["ratelimit"]["requests_per_period"], limit["threshold"]);
            assert_eq!(rule["enabled"], limit["disabled"] == false);
        }
    }
    assert!(writes.iter().all(|count| *count > 5), "{writes:?}");
}

#[test]
fn mistakes_in_rate_limits_have_places() {
    let (_edge, api, ids) = edge("");
    let (limits, caller) = (format!("/zones/{}/rate_limits", ids.zone), old(&api, "2025-06-14"));
    let good = json!({"threshold": 1, "period": 10, "action": {"mode": "ban"}});
    for (changes, pointer) in [
        (json!({"threshold": 0}), "/threshold"),
        (json!({"period": null}), "/period"),
        (json!({"action": {"mode": "burn"}}), "/action/mode"),
        (json!({"action": null}), "/action"),
        (json!({"match": {"request": {"methods": ["FETCH"]}}}), "/match/request/methods/0"),
        (json!({"match": {"response": {"status": [5]}}}), "/match/response/status/0"),
        (json!({"match": {"response": {"headers": [{"name": "x"}]}}}), "/match/response/headers"),
        (json!({"bypass": [{"name": "ip", "value": "x"}]}), "/bypass/0/name"),
    ] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let (answer, value) = caller.ask("POST", &limits, &body);
        assert_eq!(
            (answer.status, &value["errors"][0]["source"]["pointer"]),
            (400, &json!(pointer)),
            "{value}"
        );
    }
}

/// Old operations need what the new ones need, and names of other people's things show nothing.
#[test]
fn old_operations_give_away_nothing() {
    let (_edge, api, ids) = edge("");
    let groups = api.get("/user/tokens/permission_groups");
    let group = |name: &str| {
        let found = groups.as_array().unwrap().iter().find(|group| group["name"] == name).unwrap();
        json!({"id": found["id"]})
    };
    let other = api.post("/accounts", &json!({"name": "b"}))["id"].as_str().unwrap().to_owned();
    let token = |names: &[&str], account: &str| {
        let permission_groups: Vec<Value> = names.iter().map(|name| group(name)).collect();
        let resource = format!("com.svc.api.account.{account}");
        let policies = json!([{"effect": "allow", "permission_groups": permission_groups, "resources": {resource: "*"}}]);
        let made = api.post("/user/tokens", &json!({"name": "t", "policies": policies}));
        old(&api.with(made["value"].as_str().unwrap()), "2019-12-31")
    };
    let zone = format!("/zones/{}", ids.zone);
    let reads = [
        format!("{zone}/firewall/rules"),
        format!("{zone}/filters"),
        format!("{zone}/rate_limits"),
        format!("{zone}/firewall/waf/packages"),
        format!("{zone}/firewall/waf/overrides"),
        format!("{zone}/settings/cname_flattening"),
        format!("{zone}/dns_settings/use_apex_ns"),
        format!("/organizations/{}", ids.account),
        format!("/accounts/{}/access/apps", ids.account),
        format!("/accounts/{}/custom_ns/availability", ids.account),
    ];
    let stranger = token(&["Zone WAF Write", "Zone Write", "DNS Write", "Account Settings Write"], &other);
    let reader = token(&["Zone WAF Read", "Zone Read", "DNS Read", "Account Settings Read"], &ids.account);
    for path in &reads {
        assert_eq!(stranger.ask("GET", path, &Value::Null).0.status, 403, "{path}");
        let now = Caller { api: stranger.api.clone(), day: None }.ask("GET", path, &Value::Null).0.status;
        assert_eq!(now, 403, "{path}: who may not read it does not learn what took its place");
        assert_eq!(reader.ask("GET", path, &Value::Null).0.status, 200, "{path}");
    }
    for (method, path, body) in [
        ("POST", &reads[0], json!([{"action": "block", "filter": {"expression": "ssl"}}])),
        ("POST", &reads[1], json!([{"expression": "ssl"}])),
        ("POST", &reads[2], json!({"threshold": 1, "period": 10, "action": {"mode": "ban"}})),
        ("PATCH", &reads[5], json!({"value": "on"})),
        ("PATCH", &reads[7], json!({"name": "x"})),
        ("POST", &reads[8], json!({"name": "x"})),
    ] {
        assert_eq!(reader.ask(method, path, &body).0.status, 403, "{method} {path}");
    }
    // A key of a request is not answered where the request is served otherwise, as before the announcement; at another day
    // it is the same request.
    let key = |day: &str| {
        let headers = format!("Idempotency-Key: k\r\napi-version: {day}\r\n");
        api.ask("POST", &reads[1], &headers, "[{\"expression\":\"ssl\"}]").status
    };
    assert_eq!((key("2025-06-14"), key("2025-06-14"), key("2024-06-14")), (200, 200, 409));
    assert_eq!(key("2025-06-13"), 200, "a retry after midnight hears the first answer");
    assert_eq!(reader.result("GET", &reads[1], &Value::Null).as_array().unwrap().len(), 1);
    // A file's rules are shown, and are not changed here.
    let (_edge, api, _) = edge(
        "[[zones]]\nname = \"file.example\"\norigins = [\"http://127.0.0.1:9\"]\n[[zones.rulesets]]\n\
        phase = \"http_request_firewall_custom\"\n[[zones.rulesets.rules]]\naction = \"block\"\nexpression = \"ssl\"",
    );
    let caller = old(&api, "2025-06-14");
    let rules = "/zones/file.example/firewall/rules";
    assert_eq!(caller.result("GET", rules, &Value::Null)[0]["filter"]["expression"], "ssl");
    let (answer, value) =
        caller.ask("POST", rules, &json!([{"action": "block", "filter": {"expression": "ssl"}}]));
    assert_eq!((answer.status, &value["errors"][0]["code"]), (409, &json!(10_009)), "{value}");
}
