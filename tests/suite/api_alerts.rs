//! Alerts: a spike of security events reaches those who asked for it.

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::support::{Api, Edge, Origin, wait_for};

pub(crate) fn edge(origin: &Origin, settings: &str) -> Edge {
    Edge::start(&format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n{settings}\
         [[zones]]\nname = \"a.example\"\norigins = [\"{0}\"]\n[zones.waf]\n\
         [[zones]]\nname = \"b.example\"\norigins = [\"{0}\"]\n[zones.waf]\n",
        origin.url()
    ))
}

/// Events of the last whole interval of five minutes and of the one under way, as the writer would have kept them.
pub(crate) fn keep(edge: &Edge, zone: &str, source: &str, events: usize) {
    let log = rusqlite::Connection::open(edge.folder.path().join("state/events.db")).unwrap();
    for before in [300, 0] {
        let at: String = log
            .query_row(
                "SELECT strftime('%Y-%m-%dT%H:%M:%S', strftime('%s', 'now') / 300 * 300 - ?1, 'unixepoch')",
                [before],
                |row| row.get(0),
            )
            .unwrap();
        for _ in 0..events {
            log.execute(
                "INSERT INTO events (at, zone, host, source, action, rule, reference, client, ray, path, count, record,
                     account)
                 VALUES (?1, ?2, '', ?3, 'block', '', '', '', '', '', 1, '{}', 'default')",
                [&format!("{at}.000000Z"), zone, source],
            )
            .unwrap();
        }
    }
}

/// Starts the edge anew: policies are looked at when it starts, and then each minute.
pub(crate) fn again(mut edge: Edge) -> Edge {
    edge.signal("TERM");
    edge.wait_for_exit();
    edge.again()
}

/// With a key to seal with, the state folder does not show the secrets of webhooks, which still go with messages.
#[test]
fn secrets_of_webhooks_are_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("secrets.key");
    std::fs::write(&key, "0b".repeat(32)).unwrap();
    let (origin, listener) = (Origin::echo(), Origin::fixed("text/plain", "ok"));
    let edge = Edge::start(&format!(
        "secrets_key_file = \"{}\"\n[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\n\
         api_tokens = [\"{TOKEN}\"]\nprivate_webhooks = true\n[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
        key.display(),
        origin.url()
    ));
    let api = Api::new(&edge, TOKEN);
    let secret = ["s", "3", "cret-of-a-hook"].concat();
    let body = json!({"name": "ops", "url": format!("{}/hook", listener.url()), "secret": secret});
    let webhook = api.post("/accounts/default/alerting/v3/destinations/webhooks", &body);
    let policy = json!({"name": "spike", "alert_type": "security_events_alert", "mechanisms": {"webhooks": [{"id": webhook["id"]}]}});
    api.post("/accounts/default/alerting/v3/policies", &policy);
    keep(&edge, "a.example", "firewallmanaged", 250);
    listener.forget();
    let edge = again(edge);
    let told = wait_for("the alert", || listener.requests().into_iter().next());
    assert_eq!(told.header("svc-webhook-auth"), Some(secret.as_str()));
    for entry in std::fs::read_dir(edge.folder.path().join("state")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let is_shown = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!is_shown, "{} shows the secret", path.display());
    }
}

#[test]
fn a_spike_is_told_to_a_webhook_once() {
    let (origin, listener) = (Origin::echo(), Origin::fixed("text/plain", "ok"));
    let mut edge = edge(&origin, "private_webhooks = true\n");
    let mut api = Api::new(&edge, TOKEN);
    let (webhooks, policies) =
        ("/accounts/default/alerting/v3/destinations/webhooks", "/accounts/default/alerting/v3/policies");
    let secret = ["s", "3", "cret"].concat();
    let body = json!({"name": "ops", "url": format!("{}/hook", listener.url()), "secret": secret});
    let webhook = api.post(webhooks, &body);
    assert!(!webhook.to_string().contains(&secret) && webhook["has_secret"] == true, "{webhook}");
    let test = listener.last();
    assert_eq!((test.path(), test.header("svc-webhook-auth")), ("/hook", Some(secret.as_str())));
    let policy = |name: &str, zone: &str, service: &str| {
        json!({"name": name, "alert_type": "advanced_security_events_alert", "mechanisms": {"webhooks": [{"id": webhook["id"]}]},
            "filters": {"zones": [zone], "services": [service]}})
    };
    let spiking = api.post(policies, &policy("spike", "a.example", "Managed Rules"));
    assert_eq!(spiking["filters"]["services"], json!(["Managed Rules"]));
    api.post(policies, &policy("other zone", "b.example", "Managed Rules"));
    api.post(policies, &policy("other service", "a.example", "Data Loss Protection"));
    keep(&edge, "a.example", "firewallmanaged", 250);
    keep(&edge, "b.example", "firewallmanaged", 150);
    listener.forget();
    edge = again(edge);
    api = Api::new(&edge, TOKEN);
    let told = wait_for("the alert", || listener.requests().into_iter().next());
    let message: Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!((&message["policy_name"], &message["account_id"]), (&json!("spike"), &json!("default")));
    assert_eq!(
        (&message["data"]["events"], &message["alert_event"]),
        (&json!(250), &json!("ALERT_STATE_EVENT_START"))
    );
    // It is silent for two hours: another policy speaks, and this one does not again.
    api.post(policies, &policy("later", "a.example", "edge"));
    keep(&edge, "a.example", "edge", 300);
    edge = again(edge);
    api = Api::new(&edge, TOKEN);
    wait_for("the second alert", || (listener.requests().len() == 2).then_some(()));
    let history = wait_for("both in the history", || {
        let history = api.get("/accounts/default/alerting/v3/history");
        (history.as_array().unwrap().len() == 2).then_some(history)
    });
    assert_eq!((&history[1]["policy_id"], &history[1]["delivered"]), (&spiking["id"], &json!("ops")));
    // What a policy needs stays.
    let used = format!("{webhooks}/{}", webhook["id"].as_str().unwrap());
    assert_eq!(api.refused("DELETE", &used, &Value::Null), (409, vec![10017]));
    // A webhook that moves is tested at its new place, and does not take its secret there.
    listener.forget();
    let moved = json!({"name": "ops", "url": format!("{}/moved/?sig=a%2Fb", listener.url())});
    let moved = api.result("PUT", &used, &moved);
    assert_eq!((&moved["id"], &moved["has_secret"]), (&webhook["id"], &json!(false)));
    assert_eq!(api.get(&used), moved);
    let test = listener.last();
    assert_eq!((test.path(), test.header("svc-webhook-auth")), ("/moved/?sig=a%2Fb", None));
    assert_eq!(api.refused("PUT", &format!("{webhooks}/none"), &body).0, 404);
    for policy in api.get(policies).as_array().unwrap() {
        api.result("DELETE", &format!("{policies}/{}", policy["id"].as_str().unwrap()), &Value::Null);
    }
    api.result("DELETE", &used, &Value::Null);
    assert_eq!(api.get(webhooks), json!([]));
}

#[test]
fn webhooks_and_policies_are_checked() {
    let (origin, listener) = (Origin::echo(), Origin::fixed("text/plain", "ok"));
    let edge = edge(&origin, "");
    let api = Api::new(&edge, TOKEN);
    let webhooks = "/accounts/default/alerting/v3/destinations/webhooks";
    for url in [
        listener.url(),
        "http://localhost:1/".to_owned(),
        "ftp://x".to_owned(),
        "http://a.example/?q=1#f".to_owned(),
    ] {
        let (status, answer) = api.call("POST", webhooks, &json!({"name": "x", "url": url}));
        assert_eq!(
            (status, &answer["errors"][0]["source"]["pointer"]),
            (400, &json!("/url")),
            "{url}: {answer}"
        );
    }
    assert!(listener.requests().is_empty(), "nothing was sent to a private address");
    let policies = "/accounts/default/alerting/v3/policies";
    let body = json!({"name": "p", "alert_type": "moon", "mechanisms": {"webhooks": [{"id": "none"}]},
        "filters": {"zones": ["none.example"], "services": ["Lunar"]}});
    let (status, answer) = api.call("POST", policies, &body);
    let pointers: Vec<_> = answer["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["source"]["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(
        (status, pointers),
        (400, vec!["/alert_type", "/mechanisms/webhooks/0/id", "/filters/zones/0", "/filters/services/0"])
    );
    assert_eq!(
        api.call("POST", policies, &json!({"name": "p", "alert_type": "security_events_alert"})).0,
        400
    );
}
