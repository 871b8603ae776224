//! Security events over the API: kept, filtered, counted.

use serde_json::{Value, json};

use crate::api::{REQUESTS, RESPONSES, TOKEN, edge, execute, managed, zone};
use crate::support::{Api, Client, Edge, Origin, wait_for};

const ATTACK: &str = "/shop?q=1'%20UNION%20SELECT%20password%20FROM%20users--";

/// Has both managed rulesets run for a zone.
fn guard(api: &Api, zone: &str) {
    for phase in [REQUESTS, RESPONSES] {
        let path = format!("/zones/{zone}/rulesets/phases/{phase}/entrypoint");
        api.result("PUT", &path, &json!({"rules": [execute(&managed(api, phase))]}));
    }
}

/// The events of a path, and how many there are in all.
fn events(api: &Api, path: &str) -> (Vec<Value>, u64) {
    let (status, answer) = api.call("GET", path, &Value::Null);
    assert_eq!(status, 200, "{path}: {answer}");
    (answer["result"].as_array().unwrap().clone(), answer["result_info"]["total_count"].as_u64().unwrap())
}

#[test]
fn what_was_refused_and_found_can_be_reviewed() {
    let origin = Origin::fixed("text/html", "<p>card number 4111 1111 1111 1111</p>");
    let (edge, api) = edge(&origin);
    let other = zone(&api, "new.example", &origin);
    guard(&api, &other);
    let attacked = |host: &str| {
        let answer = Client::get(edge.proxy[0], host, ATTACK);
        assert_eq!(answer.status, 403);
        answer.header("svc-ray").unwrap().to_owned()
    };
    let rays: Vec<String> = (0..3).map(|_| attacked("file.example")).collect();
    attacked("new.example");
    // The same leak three times is one event that counts.
    for _ in 0..3 {
        assert_eq!(Client::get(edge.proxy[0], "new.example", "/leak").status, 200);
    }
    let smuggled = "POST / HTTP/1.1\r\nHost: file.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx";
    assert_eq!(Client::once(edge.proxy[0], smuggled).status, 400);
    let events = |path: &str| events(&api, path);
    let of_file = "/zones/file.example/security/events";
    wait_for("the attacks to be kept", || {
        (events(&format!("{of_file}?source=firewallmanaged")).1 == 3).then_some(())
    });
    let (list, _) = events(&format!("{of_file}?source=firewallmanaged&per_page=2"));
    assert_eq!((list.len(), &list[0]["RayID"]), (2, &json!(rays[2])), "the newest first");
    for (name, value) in [
        ("Action", json!("block")),
        ("Service", json!("Managed Rules")),
        ("ClientRequestPath", json!("/shop")),
        ("ClientRequestHost", json!("file.example")),
        ("EdgeResponseStatus", json!(403)),
        ("ClientIP", json!("127.0.0.1")),
        ("Ref", json!("90010")),
        ("zone", json!("file.example")),
        ("count", json!(1)),
    ] {
        assert_eq!(list[0][name], value, "{name}: {}", list[0]);
    }
    assert!(!list[0].to_string().contains("UNION"), "no value of a request is kept");
    let ray = format!("{of_file}?ray={}&action=block&client=127.0.0.1", rays[1]);
    assert_eq!((events(&ray).1, events(&format!("{of_file}?action=log")).1), (1, 0));
    assert_eq!(events(&format!("{of_file}?until=2020-01-01T00:00:00Z")).1, 0);
    assert_eq!(events(&format!("{of_file}?since=2020-01-01T00:00:00Z&reference=90010")).1, 3);
    // Of another zone nothing is shown there; of the account everything of its zones.
    let of_new = format!("/zones/{other}/security/events");
    let leak = wait_for("the leak to be counted", || {
        let (list, _) = events(&format!("{of_new}?source=dlp"));
        list.first().filter(|event| event["count"].as_u64().unwrap() >= 3).cloned()
    });
    assert_eq!((&leak["Service"], &leak["Action"]), (&json!("Data Loss Protection"), &json!("log")));
    assert_eq!(
        (events(&format!("{of_new}?source=dlp")).1, events(&format!("{of_new}?source=firewallmanaged")).1),
        (1, 1)
    );
    assert_eq!(events("/accounts/acme/security/events?zone=file.example").1, 0);
    assert_eq!(events("/accounts/default/security/events?zone=file.example&source=firewallmanaged").1, 3);
    // What the edge refused by itself.
    let refused = wait_for("the refusal to be kept", || {
        events("/accounts/default/security/events?source=edge").0.first().cloned()
    });
    assert_eq!(refused["Service"], "Edge");
    let top = api.get(&format!("{of_file}/top?field=reference&source=firewallmanaged"));
    assert_eq!(top, json!([{"value": "90010", "count": 3}]));
    let hosts = api.get("/accounts/default/security/events/top?field=host&source=firewallmanaged");
    assert_eq!(hosts[0], json!({"value": "file.example", "count": 3}));
    for query in ["?since=yesterday", "?color=red", "/top?field=color"] {
        assert_eq!(
            api.refused("GET", &format!("{of_file}{query}"), &Value::Null),
            (400, vec![10006]),
            "{query}"
        );
    }
}

#[test]
fn the_next_owner_of_a_name_sees_nothing_of_the_last() {
    let origin = Origin::fixed("text/html", "<p>card number 4111 1111 1111 1111</p>");
    let (edge, api) = edge(&origin);
    let made = |account: &str| {
        let zone = json!({"name": "taken.example", "account": {"id": account}, "origins": [origin.url()]});
        let id = api.post("/zones", &zone)["id"].as_str().unwrap().to_owned();
        guard(&api, &id);
        id
    };
    let use_it = || {
        assert_eq!(Client::get(edge.proxy[0], "taken.example", ATTACK).status, 403);
        assert_eq!(Client::get(edge.proxy[0], "taken.example", "/leak").status, 200);
    };
    let seen = |owner: &str| events(&api, &format!("{owner}/security/events?host=taken.example")).1;
    let first = made("acme");
    use_it();
    wait_for("both events", || (seen(&format!("/zones/{first}")) == 2).then_some(()));
    api.result("DELETE", &format!("/zones/{first}"), &Value::Null);
    let second = made("default");
    let count =
        |owner: &str| (seen(&format!("/zones/{owner}")), seen("/accounts/default"), seen("/accounts/acme"));
    assert_eq!(count(&second), (0, 0, 2));
    // The same leak on the same path of the same name is a new finding, for it is another's.
    use_it();
    wait_for("both events of the second zone", || (count(&second) == (2, 2, 2)).then_some(()));
    let top = api.get(&format!("/zones/{second}/security/events/top?field=source"));
    assert_eq!(top, json!([{"value": "dlp", "count": 1}, {"value": "firewallmanaged", "count": 1}]));
    assert_eq!(api.call("GET", &format!("/zones/{first}/security/events"), &Value::Null).0, 404);
}

#[test]
fn events_are_kept_as_long_as_is_set() {
    let origin = Origin::echo();
    let edge = |settings: &str| {
        Edge::start(&format!(
            "{settings}[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
             [[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
            origin.url()
        ))
    };
    let count = |api: &Api| {
        api.call("GET", "/zones/a.example/security/events", &Value::Null).1["result_info"]["total_count"]
            .as_u64()
    };
    let brief = edge("security_event_retention = \"2s\"\n");
    let api = Api::new(&brief, TOKEN);
    assert_eq!(Client::get(brief.proxy[0], "a.example", ATTACK).status, 403);
    wait_for("the event", || (count(&api) == Some(1)).then_some(()));
    wait_for("the event to go", || (count(&api) == Some(0)).then_some(()));
    // And so do those that are too many bytes.
    let small = edge("security_event_size = \"1MiB\"\n");
    let api = Api::new(&small, TOKEN);
    for _ in 0..3_000 {
        assert_eq!(Client::get(small.proxy[0], "a.example", ATTACK).status, 403);
    }
    let bytes = || std::fs::metadata(small.folder.path().join("state/events.db")).unwrap().len();
    wait_for("the oldest to go", || {
        count(&api).is_some_and(|count| (100..2_500).contains(&count)).then_some(())
    });
    assert!(bytes() < 4 << 20, "{}", bytes());
}

#[test]
fn a_name_as_long_as_a_body_makes_no_event_as_long_as_one() {
    let origin = Origin::echo();
    let (mut edge, api) = edge(&origin);
    let id = zone(&api, "new.example", &origin);
    guard(&api, &id);
    let name = format!("{}1' UNION SELECT password FROM users--", "é".repeat(500_000));
    let form = format!("{name}=x");
    let answer =
        Client::post(edge.proxy[0], "new.example", "/", "application/x-www-form-urlencoded", form.as_bytes());
    assert_eq!(answer.status, 403);
    let event = edge.wait_for_event("security_event", |event| event["ClientRequestHost"] == "new.example");
    let parts = event["contributions"].as_array().unwrap();
    assert!(!parts.is_empty() && event.to_string().len() < 100_000, "{}", event.to_string().len());
    assert!(parts.iter().any(|part| part["variable"].as_str().unwrap().ends_with("é…")), "{event}");
    let kept = wait_for("the event to be kept", || {
        events(&api, &format!("/zones/{id}/security/events")).0.first().cloned()
    });
    assert!(kept.to_string().len() < 100_000);
}
