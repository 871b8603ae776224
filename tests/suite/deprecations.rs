//! What ends: before its day it works and says so, from its day on it is refused with what takes its place.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::{Api, Edge, Response};

pub(crate) const TOKEN: &str = "api";
/// What operations are asked about that were never made.
const NONE: &str = "00000000000000000000000000000000";

/// A configuration with what it says of what ends.
pub(crate) fn conf(deprecations: &str) -> String {
    format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
         private_webhooks = true\n[dns]\nresolvers = [\"127.0.0.1:9\"]\n[deprecations]\n{deprecations}\n"
    )
}

/// An edge with a zone of an account, and both ids.
pub(crate) fn edge(deprecations: &str) -> (Edge, Api, Ids) {
    let edge = Edge::start(&conf(deprecations));
    let api = Api::new(&edge, TOKEN);
    let account = api.post("/accounts", &json!({"name": "a"}))["id"].as_str().unwrap().to_owned();
    let zone = api.post("/zones", &json!({"name": "example.com", "account": {"id": account}}));
    let zone = zone["id"].as_str().unwrap().to_owned();
    (edge, api, Ids { account, zone })
}

#[derive(Clone, Debug)]
pub(crate) struct Ids {
    pub(crate) account: String,
    pub(crate) zone: String,
}

impl Ids {
    /// The path of an operation.
    fn fill(&self, path: &str) -> String {
        let part = |part: &str| match part {
            "{account_id}" | "{organization_id}" => self.account.clone(),
            "{zone_id}" => self.zone.clone(),
            "{*rest}" => "scripts".to_owned(),
            part if part.starts_with('{') => NONE.to_owned(),
            part => part.to_owned(),
        };
        path.split('/').map(part).collect::<Vec<_>>().join("/")
    }
}

/// Who asks, and for the interface of what day.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) api: Api,
    /// `None` if the request does not say.
    pub(crate) day: Option<String>,
}

impl Caller {
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> (Response, Value) {
        let header = self.day.as_ref().map_or_else(String::new, |day| format!("api-version: {day}\r\n"));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.api.ask(method, path, &header, &body);
        let value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        (answer, value)
    }

    pub(crate) fn result(&self, method: &str, path: &str, body: &Value) -> Value {
        let (answer, value) = self.ask(method, path, body);
        assert_eq!(answer.status, 200, "{method} {path} {body}: {value}");
        value["result"].clone()
    }
}

/// A row of the calendar as the API shows it.
fn rows(api: &Api) -> Vec<Value> {
    api.get("/deprecations").as_array().unwrap().clone()
}

fn end(row: &Value) -> &str {
    row["extended"].as_str().unwrap_or_else(|| row["date"].as_str().unwrap())
}

fn days_around(day: &str) -> [String; 3] {
    let day: jiff::civil::Date = day.parse().unwrap();
    [day.yesterday().unwrap(), day, day.tomorrow().unwrap()].map(|day| day.to_string())
}

/// Whether an operation that ends is served: it is, or it is told to end without ever having been.
fn is_route_served(row: &Value, caller: &Caller, ids: &Ids) -> bool {
    let operations = row["operations"].as_array().unwrap();
    let mut outcomes = BTreeSet::new();
    for operation in operations {
        let (method, path) = operation.as_str().unwrap().split_once(' ').unwrap();
        let (answer, value) = caller.ask(method, &ids.fill(path), &Value::Null);
        let codes: Vec<u64> =
            value["errors"].as_array().unwrap().iter().map(|error| error["code"].as_u64().unwrap()).collect();
        let has_ended = answer.status == 410;
        assert_eq!(has_ended, codes.contains(&10_021), "{operation}: {value}");
        assert_ne!(answer.status, 405, "{operation}");
        for header in ["deprecation", "sunset", "link"] {
            assert!(
                answer.header(header).is_some(),
                "{operation} at {:?} has no `{header}`: {value}",
                caller.day
            );
        }
        if has_ended {
            let message = value["errors"][0]["message"].as_str().unwrap();
            let expected = [row["replacement"].as_str().unwrap(), end(row)];
            assert!(expected.iter().all(|text| message.contains(text)), "{operation}: {message}");
            assert_eq!(answer.header("x-should-retry"), Some("false"));
            let successors = row["successors"].as_array().unwrap();
            assert_eq!(successors.is_empty(), !message.contains(": /client/v4/"), "{message}");
            assert!(!message.contains(['{', '}']), "{message}");
        }
        outcomes.insert(!has_ended);
    }
    assert_eq!(outcomes.len(), 1, "{row}");
    outcomes.contains(&true)
}

/// Whether an answer of the raw socket is that of one who takes both lengths.
fn takes_two_lengths(caller: &Caller) -> bool {
    let header = "Transfer-Encoding: chunked\r\n";
    caller.api.ask("GET", "/zones", header, "").status != 400
}

/// Whether something that ends is served to a caller; what it tells on the way is checked.
#[expect(clippy::too_many_lines, reason = "an arm for each row")]
fn is_served(row: &Value, caller: &Caller, ids: &Ids) -> bool {
    let zone = format!("/zones/{}", ids.zone);
    let account = format!("/accounts/{}", ids.account);
    let records = format!("{zone}/dns_records");
    // Served with this status, or refused at this place.
    let refused_at = |answer: &Response, value: &Value, status: u16, code: u64, pointer: Option<&str>| {
        if answer.status == 200 {
            return false;
        }
        let error = &value["errors"][0];
        assert_eq!((answer.status, error["code"].as_u64()), (status, Some(code)), "{value}");
        assert_eq!(error["source"]["pointer"].as_str(), pointer, "{value}");
        assert!(error["message"].as_str().unwrap().contains(&format!("ended on {}", end(row))), "{value}");
        true
    };
    let id = row["id"].as_str().unwrap();
    match id {
        "access-self-hosted-domains" => {
            let path = format!("{account}/access/apps");
            let body = json!({"name": "a", "self_hosted_domains": ["a.example"]});
            let (answer, value) = caller.ask("POST", &path, &body);
            let has_ended = refused_at(&answer, &value, 400, 10_008, Some("/self_hosted_domains"));
            let beside = json!({"name": "b", "self_hosted_domains": ["a.example"], "destinations": [{"uri": "b.example"}]});
            let made = caller.result("POST", &path, &beside);
            assert_eq!(
                made["destinations"],
                json!([{"type": "public", "uri": "b.example"}]),
                "destinations win"
            );
            let shown = (!has_ended).then(|| json!(["b.example"]));
            assert_eq!(made.get("self_hosted_domains"), shown.as_ref());
            !has_ended
        }
        "setting-cname-flattening-in-list" => {
            let settings = caller.result("GET", &format!("{zone}/settings"), &Value::Null);
            let (answer, _) = caller.ask(
                "PATCH",
                &format!("{zone}/settings"),
                &json!({"items": [{"id": "cname_flattening", "value": "off"}]}),
            );
            let is_listed =
                settings.as_array().unwrap().iter().any(|setting| setting["id"] == "cname_flattening");
            assert_eq!(answer.status == 200, is_listed);
            is_listed
        }
        "account-nameserver-fields" => {
            let shown = caller.result("GET", &account, &Value::Null);
            let is_shown = shown["settings"].get("default_nameservers").is_some();
            let other = match caller.api.get(&format!("{account}/dns_settings"))["zone_defaults"]["nameservers"]
                ["type"]
                .as_str()
                .unwrap()
            {
                "custom.tenant" => "svc.standard",
                _ => "custom.tenant",
            };
            let body = json!({"name": "a", "settings": {"default_nameservers": other}});
            let (answer, value) = caller.ask("PUT", &account, &body);
            assert_eq!(answer.status, 200, "{value}");
            assert_eq!(value["messages"][0]["code"], 10_021, "{value}");
            let now = caller.api.get(&format!("{account}/dns_settings"));
            assert_eq!(now["zone_defaults"]["nameservers"]["type"] == other, is_shown);
            is_shown
        }
        "dns-record-filter-operators" | "dns-record-filter-lists" | "dns-record-filter-type" => {
            let query = match id {
                "dns-record-filter-operators" => "name=contains:WW",
                "dns-record-filter-lists" => "name=www.example.com,none.example.com",
                _ => "type=contains:aa",
            };
            let (answer, value) = caller.ask("GET", &format!("{records}?{query}"), &Value::Null);
            let has_ended = refused_at(&answer, &value, 400, 10_006, None);
            if !has_ended {
                assert_eq!(value["result_info"]["total_count"], 1, "{query}: {value}");
                assert_eq!(value["messages"][0]["code"], 10_021, "{value}");
            }
            !has_ended
        }
        "dns-record-zone-fields" | "dns-record-locked" => {
            let (fields, values) = match id {
                "dns-record-locked" => (vec!["locked"], vec![json!(false)]),
                _ => (vec!["zone_id", "zone_name"], vec![json!(ids.zone), json!("example.com")]),
            };
            let found = caller.result("GET", &format!("{records}?type=AAAA"), &Value::Null);
            let record = format!("{records}/{}", found[0]["id"].as_str().unwrap());
            let patched = json!({"ttl": 300, "zone_id": "other", "zone_name": "other", "locked": true});
            let shown = [
                found[0].clone(),
                caller.result("GET", &record, &Value::Null),
                caller.result("PATCH", &record, &patched),
            ];
            let has = |record: &Value| fields.iter().all(|field| record.get(field).is_some());
            for record in &shown {
                for (field, value) in fields.iter().zip(&values) {
                    assert!(record.get(field).is_none_or(|found| found == value), "{record}");
                }
                assert_eq!(has(record), has(&shown[0]), "{record}");
            }
            has(&shown[0])
        }
        "dns-record-error-chain" => {
            let (answer, value) =
                caller.ask("POST", &records, &json!({"type": "A", "name": "x", "content": "none"}));
            assert_eq!(answer.status, 400);
            let error = &value["errors"][0];
            if error["code"] == 9005 {
                assert_eq!(error.get("error_chain"), None);
                return false;
            }
            assert_eq!(
                (&error["code"], &error["error_chain"][0]["code"]),
                (&json!(1004), &json!(9005)),
                "{value}"
            );
            true
        }
        "srv-record-data" => {
            let data = json!({"priority": 1, "weight": 2, "port": 3, "target": "t.example",
                "service": "_sip", "proto": "_tcp", "name": "example.com"});
            let (answer, value) = caller.ask("POST", &records, &json!({"type": "SRV", "data": data}));
            if answer.status != 200 {
                // Until 2024-10-01 errors stood behind one another.
                let error = &value["errors"][0];
                let list = if error["code"] == 1004 { &error["error_chain"] } else { &value["errors"] };
                let ended = list.as_array().unwrap().iter().filter(|error| error["code"] == 9036);
                let ended: Vec<&str> = ended.map(|error| error["message"].as_str().unwrap()).collect();
                assert_eq!(ended.len(), 3, "{value}");
                for (message, part) in ended.iter().zip(["service", "proto", "name"]) {
                    let expected = format!("`/data/{part}` ended on 2024-05-31; use ");
                    assert!(message.starts_with(&expected), "{message}");
                }
                return false;
            }
            assert_eq!(value["result"]["name"], "_sip._tcp.example.com");
            assert_eq!(value["result"]["data"], data, "what was written is shown");
            let record = format!("{records}/{}", value["result"]["id"].as_str().unwrap());
            caller.result("DELETE", &record, &Value::Null);
            true
        }
        "notification-email" => {
            let body = json!({"name": "a", "alert_type": "deprecation_alert", "notification_email": "a@example.com,b@example.com"});
            let (answer, value) = caller.ask("POST", &format!("{account}/alerting/v3/policies"), &body);
            assert_eq!(answer.status, 400);
            let text = value["errors"].to_string();
            let (before, after) = (text.contains("sends no mail"), text.contains("ended on 2023-04-03"));
            assert_ne!(before, after, "{value}");
            before
        }
        "transfer-encoding-with-content-length" => takes_two_lengths(caller),
        // The handshake is in `listener`; that it follows no caller is in the crate.
        "draft-chacha20-suites" => false,
        _ => is_route_served(row, caller, ids),
    }
}

/// Each row on the day before its end, on the day and on the day after, by the calendar of the configuration, by that of
/// a token, and by that of a request.
#[test]
fn every_row_ends_on_its_day_for_everybody_who_asks() {
    let (mut edge, api, ids) = edge("");
    let zone = format!("/zones/{}", ids.zone);
    api.post(
        &format!("{zone}/dns_records"),
        &json!({"type": "AAAA", "name": "www", "content": "2001:db8::1"}),
    );
    let groups = api.get("/user/tokens/permission_groups");
    let all: Vec<Value> = groups.as_array().unwrap().iter().map(|group| json!({"id": group["id"]})).collect();
    let policies = json!([{"effect": "allow", "permission_groups": all,
        "resources": {"com.svc.api.account.*": "*", "com.svc.api.user.*": "*"}}]);
    let token = api.post("/user/tokens", &json!({"name": "old", "policies": policies}));
    let bearer = api.with(token["value"].as_str().unwrap());
    let token = format!("/user/tokens/{}", token["id"].as_str().unwrap());
    let rows = rows(&api);
    assert_eq!(rows.len(), 36);
    let is_dated = |row: &&Value| row["what"] != "configuration_key";
    let mut by_day: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for row in rows.iter().filter(is_dated) {
        for day in days_around(end(row)) {
            by_day.entry(day).or_default().push(row);
        }
    }
    let (mut checked, mut served) = (0, 0);
    for (day, rows) in &by_day {
        edge.rewrite(&conf(&format!("as_of = \"{day}\"")));
        let published = edge.metric("portcullis_snapshot_revision");
        edge.signal("HUP");
        edge.wait_for_event("snapshot_published", |event| event["revision"].as_f64() > Some(published));
        let body = json!({"name": "old", "policies": policies, "deprecations": {"api_version": day}});
        assert_eq!(api.result("PUT", &token, &body)["deprecations"]["api_version"], day.as_str());
        let callers = [
            Caller { api: api.clone(), day: None },
            Caller { api: bearer.clone(), day: None },
            Caller { api: api.clone(), day: Some(day.clone()) },
        ];
        for row in rows {
            let is_fixed = row["what"] == "transport";
            let expected = day.as_str() < end(row) && !is_fixed;
            for (nth, caller) in callers.iter().enumerate() {
                let found = is_served(row, caller, &ids);
                assert_eq!(found, expected, "{} on {day} by {nth}", row["id"]);
                checked += 1;
                served += usize::from(found);
            }
        }
    }
    // 35 rows, three days, three ways; two rows are never served.
    assert_eq!((checked, served), (35 * 9, 33 * 3));
    for (what, expected) in [("route", "enforce"), ("configuration_key", "legacy")] {
        let row = rows.iter().find(|row| row["what"] == what).unwrap();
        let now = api.get(&format!("/deprecations/{}", row["id"].as_str().unwrap()));
        assert_eq!(now["mode"], expected, "{now}");
    }
}

#[test]
fn the_nearest_settings_win_and_are_checked() {
    let (_edge, api, ids) = edge("earliest_api_version = \"2024-01-01\"\nmodes = { tunnels = \"gone\" }");
    let settings = format!("/accounts/{}/deprecations/settings", ids.account);
    let flattening = format!("/zones/{}/settings/cname_flattening", ids.zone);
    let caller = |day: Option<&str>| Caller { api: api.clone(), day: day.map(str::to_owned) };
    let status = |day: Option<&str>, path: &str| caller(day).ask("GET", path, &Value::Null).0.status;
    assert_eq!(status(None, &flattening), 410);
    let warn = json!({"modes": {"setting-cname-flattening": "warn"}});
    assert_eq!(api.result("PUT", &settings, &warn), warn);
    assert_eq!(
        (status(None, &flattening), status(Some("2025-03-21"), &flattening)),
        (200, 410),
        "a request wins"
    );
    let answer = caller(Some("2025-03-20")).ask("GET", &flattening, &Value::Null).0;
    assert_eq!((answer.status, answer.header("api-version")), (200, Some("2025-03-20")));
    assert_eq!(answer.header("sunset"), Some("Fri, 21 Mar 2025 00:00:00 GMT"));
    assert_eq!(answer.header("deprecation"), Some("@1710979200"));
    assert!(
        answer.text().contains("\"documentation_url\":\"/client/v4/deprecations/setting-cname-flattening\"")
    );
    // A year before its end nobody is told.
    let silent = caller(Some("2024-03-20")).ask("GET", &flattening, &Value::Null);
    assert_eq!((silent.0.status, silent.0.header("sunset"), &silent.1["messages"]), (200, None, &json!([])));
    api.result("PUT", &settings, &json!({"api_version": "2025-03-20"}));
    assert_eq!(status(None, &flattening), 200);
    api.result("PUT", &settings, &json!({}));
    assert_eq!(status(None, &flattening), 410);
    // What is gone is as if it had never been.
    let tunnels = format!("/accounts/{}/tunnels", ids.account);
    let (answer, gone) = caller(None).ask("GET", &tunnels, &Value::Null);
    let (other, unknown) = caller(None).ask("GET", &format!("{tunnels}s"), &Value::Null);
    assert_eq!((answer.status, gone, answer.header("link")), (other.status, unknown, None));
    for (day, expected) in
        [("2023-12-31", 400), ("2024-01-01", 200), ("20240101", 400), ("today", 400), ("", 400)]
    {
        assert_eq!(status(Some(day), "/zones"), expected, "{day}");
    }
    for (body, pointer) in [
        (json!({"modes": {"none": "warn"}}), "/modes/none"),
        (json!({"modes": {"tunnels": "open"}}), "/modes"),
        (json!({"api_version": "2025-3-1"}), "/api_version"),
    ] {
        let (_, answer) = api.call("PUT", &settings, &body);
        assert_eq!(answer["errors"][0]["source"]["pointer"], pointer, "{answer}");
    }
    let without = api.with("");
    assert_eq!(without.call("GET", &tunnels, &Value::Null).0, 403, "who is unknown learns nothing");
}
