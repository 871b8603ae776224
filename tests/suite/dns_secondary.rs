//! Zones that come from other name servers. The primary is another edge.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::dns_server::{dig, dig_text, found, name_server, names, read_dig};
use crate::support::{Api, Edge, wait_for};

const PARTNERS: &str = "/accounts/default/secondary_dns";

/// A primary and its secondary, with what both have of each other.
struct Pair {
    primary: Edge,
    secondary: Edge,
    of_primary: Api,
    of_secondary: Api,
    /// Where each answers queries.
    from: SocketAddr,
    to: SocketAddr,
    /// The paths of the zone's records.
    records: String,
    copies: String,
    /// The path of the zone at the secondary.
    zone: String,
}

/// Names a peer, and the key that it shares.
fn peer(api: &Api, address: SocketAddr, is_signed: bool, is_incremental: bool) -> Value {
    let key = is_signed.then(|| {
        let secret = STANDARD.encode("0123456789abcdef".repeat(2));
        let key = json!({"name": "svc-pair.example", "algo": "hmac-sha256", "secret": secret});
        api.post(&format!("{PARTNERS}/tsigs"), &key)["id"].clone()
    });
    let made = json!({"name": "other", "ip": address.ip(), "port": address.port(), "tsig_id": key, "ixfr_enable": is_incremental});
    api.post(&format!("{PARTNERS}/peers"), &made)["id"].clone()
}

fn pair(is_signed: bool, is_incremental: bool) -> Pair {
    let (primary, of_primary, from, records) = name_server("private_peers = true\n");
    for (record_type, name, content) in [
        ("A", "www", "192.0.2.1"),
        ("TXT", "@", "\"v=spf1 -all\""),
        ("CNAME", "api", "www.example.com"),
        ("NS", "sub", "ns.example.net"),
    ] {
        of_primary
            .post(&records, &json!({"type": record_type, "name": name, "content": content, "ttl": 600}));
    }
    // The edge's own zone of that name has to go: here it comes from the primary.
    let (secondary, of_secondary, to, own) = name_server("private_peers = true\n");
    of_secondary.result("DELETE", own.trim_end_matches("/dns_records"), &Value::Null);
    let zone = of_secondary.post("/zones", &json!({"name": "example.com", "type": "secondary"}));
    assert_eq!(zone["type"], "secondary");
    let zone = format!("/zones/{}", zone["id"].as_str().unwrap());
    assert_eq!(dig(to, "www.example.com A").0, "SERVFAIL", "nothing has come yet");
    let outgoing = peer(&of_primary, to, is_signed, false);
    let path = format!("{}/secondary_dns/outgoing", records.trim_end_matches("/dns_records"));
    of_primary.post(&path, &json!({"name": "example.com", "peers": [outgoing]}));
    let incoming = peer(&of_secondary, from, is_signed, is_incremental);
    let body = json!({"name": "example.com", "peers": [incoming], "auto_refresh_seconds": 0});
    of_secondary.post(&format!("{zone}/secondary_dns/incoming"), &body);
    let copies = format!("{zone}/dns_records");
    Pair { primary, secondary, of_primary, of_secondary, from, to, records, copies, zone }
}

impl Pair {
    /// Waits until the secondary has the serial of the primary, and compares their answers.
    fn settle(&self) {
        let soa = |server| dig(server, "example.com SOA").1;
        wait_for("the secondary to follow", || (soa(self.from) == soa(self.to)).then_some(()));
        for question in [
            "www.example.com A",
            "www.example.com MX",
            "example.com TXT",
            "example.com NS",
            "api.example.com A",
            "x.sub.example.com A",
            "nothing.example.com A",
            "new.example.com A",
            "example.com SOA",
        ] {
            let [expected, answer] = [self.from, self.to].map(|server| dig_text(server, question));
            assert_eq!(sorted(read_dig(&expected)), sorted(read_dig(&answer)), "{expected}\n{answer}");
        }
    }
}

fn sorted((status, mut records): (String, Vec<String>)) -> (String, Vec<String>) {
    records.sort();
    (status, records)
}

#[test]
fn zones_follow_their_primaries() {
    let mut ran = 0;
    for (is_signed, is_incremental) in [(false, false), (true, false), (true, true)] {
        let mut pair = pair(is_signed, is_incremental);
        pair.settle();
        let made = pair
            .of_primary
            .post(&pair.records, &json!({"type": "A", "name": "new", "content": "192.0.2.7", "ttl": 60}));
        pair.settle();
        let path = format!("{}/{}", pair.records, made["id"].as_str().unwrap());
        pair.of_primary.result("PATCH", &path, &json!({"ttl": 120, "content": "192.0.2.8"}));
        pair.settle();
        pair.of_primary.result("DELETE", &path, &Value::Null);
        pair.settle();
        let kinds: Vec<Value> = pair
            .primary
            .events()
            .into_iter()
            .filter(|event| event["event"] == "zone_handed_over")
            .map(|event| event["query_type"].clone())
            .collect();
        assert_eq!(kinds.contains(&json!("IXFR")), is_incremental, "{kinds:?}");
        let event = pair.secondary.wait_for_event("zone_received", |event| event["serial"].is_number());
        assert_eq!((&event["error"], &event["skipped"]), (&Value::Null, &json!(0)));
        let shown = pair.of_secondary.get(&format!("{}/secondary_dns/incoming", pair.zone));
        assert!(shown["checked_time"].is_string() && shown["soa_serial"].is_number(), "{shown}");
        ran += 1;
    }
    assert_eq!(ran, 3);
}

#[test]
fn records_of_a_secondary_zone_are_its_primaries() {
    let pair = pair(false, true);
    pair.settle();
    let api = &pair.of_secondary;
    let list = api.get(&pair.copies);
    let www = list.as_array().unwrap().iter().find(|record| record["name"] == "www.example.com").unwrap();
    let path = format!("{}/{}", pair.copies, www["id"].as_str().unwrap());
    for (verb, path, body) in [
        ("POST", &pair.copies, json!({"type": "A", "name": "x", "content": "192.0.2.9"})),
        ("PATCH", &path, json!({"content": "192.0.2.9"})),
        ("PATCH", &path, json!({"ttl": 300})),
        ("PATCH", &path, json!({"proxied": true})),
        ("DELETE", &path, Value::Null),
    ] {
        let refused = api.ask(verb, path, "", &body.to_string());
        assert!(
            refused.status == 409 && refused.text().contains("primaries"),
            "{verb} {body}: {}",
            refused.text()
        );
    }
    api.result("PATCH", &path, &json!({"comment": "of the shop", "tags": ["team:web"]}));
    api.result("PATCH", &format!("{}/dns_settings", pair.zone), &json!({"secondary_overrides": true}));
    api.result("PATCH", &path, &json!({"proxied": true}));
    assert_eq!(dig(pair.to, "www.example.com A"), found(&["www.example.com. 300 IN A 192.0.2.53"]));
    // What is the secondary's own stays when the zone comes anew.
    pair.of_primary
        .post(&pair.records, &json!({"type": "A", "name": "new", "content": "192.0.2.7", "ttl": 60}));
    wait_for("the new record", || (dig(pair.to, "new.example.com A").1.len() == 1).then_some(()));
    assert_eq!(api.post(&format!("{}/secondary_dns/force_axfr", pair.zone), &json!({})), "OK");
    let kept = api.get(&path);
    assert_eq!((&kept["comment"], &kept["proxied"]), (&json!("of the shop"), &json!(true)));
    // From nobody: the records stay, and are changed here.
    api.result("DELETE", &format!("{}/secondary_dns/incoming", pair.zone), &Value::Null);
    api.result("PATCH", &path, &json!({"proxied": false, "content": "192.0.2.9"}));
    assert!(dig(pair.to, "www.example.com A").1[0].ends_with("192.0.2.9"));
    assert_eq!(api.get(&pair.zone)["type"], "full");
    assert_eq!(api.ask("POST", &format!("{}/secondary_dns/force_axfr", pair.zone), "", "").status, 404);
    let refused = api.ask("PATCH", &pair.zone, "", "{\"type\":\"secondary\"}");
    assert!(refused.status == 400 && refused.text().contains("/type"), "{}", refused.text());
}

#[test]
fn a_secondary_answers_without_its_primary_and_believes_no_stranger() {
    let Pair { primary, mut secondary, from, to, copies, zone, .. } = {
        let pair = pair(true, false);
        pair.settle();
        pair
    };
    // Who says that the zone has changed must show the key.
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut notify = vec![0, 1, 0x24, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    notify.extend(b"\x07example\x03com\0\0\x06\0\x01");
    stranger.send_to(&notify, to).unwrap();
    let mut answer = [0; 512];
    let (bytes, _) = stranger.recv_from(&mut answer).unwrap();
    assert_eq!((answer[2] & 0xF8, answer[3] & 15, bytes), (0xA0, 5, notify.len()), "refused");
    let before = dig(from, "www.example.com A");
    drop(primary);
    secondary.signal("KILL");
    secondary.wait_for_exit();
    let mut secondary = secondary.again();
    let to = names(&secondary);
    assert_eq!(dig(to, "www.example.com A"), before, "it has the zone since before");
    let failed = secondary.wait_for_event("zone_received", |event| event["error"].is_string());
    assert_eq!(failed["serial"], Value::Null);
    let api = Api::new(&secondary, TOKEN);
    assert_eq!(api.get(&format!("{zone}/secondary_dns/incoming"))["checked_time"], Value::Null);
    assert_eq!(api.get(&copies).as_array().unwrap().len(), 6);
}
