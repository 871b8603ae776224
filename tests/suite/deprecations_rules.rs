//! Firewall rules and filters, over custom rules.

use serde_json::{Value, json};

use crate::deprecations::{Caller, edge};
use crate::deprecations_views::{Random, old};

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
