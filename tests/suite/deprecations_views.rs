//! Operations that end, over the resources that took their place: settings, accounts, applications, and who may ask.

use serde_json::{Value, json};

use crate::deprecations::{Caller, Ids, edge};
use crate::support::Api;

/// A caller of the last day of most operations that end.
pub(crate) fn old(api: &Api, day: &str) -> Caller {
    Caller { api: api.clone(), day: Some(day.to_owned()) }
}

/// Numbers that look random and are the same in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
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
