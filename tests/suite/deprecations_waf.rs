//! WAF packages, WAF overrides and rate limits, over managed rulesets and rate limiting rules.

use serde_json::{Value, json};

use crate::deprecations::edge;
use crate::deprecations_views::{Random, old};
use crate::support::{Api, Client, Edge, Origin};

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
