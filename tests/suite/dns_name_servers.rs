//! Which name servers a zone has: those of a set of the configuration, or names of its own.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::dns_server::{dig, name_server};
use crate::support::{Api, wait_for};

const SET_2: &str = "[[dns.name_server_sets]]\nns_set = 2\nnames = [\"a.ns.example\", \"B.ns.example.\"]\n";

/// The name servers of a zone: what resolvers get, which the API shows too, and the first is its primary.
fn served(api: &Api, names: SocketAddr, zone: &str) -> Vec<String> {
    let of = |question: &str| -> Vec<String> {
        let (_, records) = dig(names, question);
        let words = records.iter().map(|record| record.split(' ').collect::<Vec<_>>());
        let found = words.filter(|words| words[3] == question.split(' ').nth(1).unwrap());
        let mut found: Vec<String> = found.map(|words| words[4].trim_end_matches('.').to_owned()).collect();
        found.sort_unstable();
        found
    };
    let shown: Vec<String> = serde_json::from_value(api.get(zone)["name_servers"].clone()).unwrap();
    let (ns, primary) = (of("example.com NS"), of("example.com SOA"));
    assert_eq!((&primary[0], &shown), (&shown[0], &ns));
    shown
}

#[test]
fn zones_have_the_name_servers_of_their_set_or_their_own() {
    let (edge, api, names, records) = name_server(SET_2);
    let zone = records.trim_end_matches("/dns_records");
    let settings = format!("{zone}/dns_settings");
    let served = || served(&api, names, zone);
    let (set_1, set_2) = (["ns1.edge.example", "ns2.edge.example"], ["a.ns.example", "b.ns.example"]);
    assert_eq!(served(), set_1);
    let of_set = |set: u64| json!({"nameservers": {"type": "svc.standard", "ns_set": set}});
    api.result("PATCH", &settings, &of_set(2));
    assert_eq!(served(), set_2);
    let refused = |method: &str, path: &str, body: &Value, pointer: &str| {
        let (status, answer) = api.call(method, path, body);
        assert_eq!(
            (status, answer["errors"][0]["source"]["pointer"].as_str()),
            (400, Some(pointer)),
            "{answer}"
        );
        answer["errors"][0]["message"].as_str().unwrap().to_owned()
    };
    let found = refused("PATCH", &settings, &of_set(3), "/nameservers/ns_set");
    assert_eq!(found, "the configuration has no set 3 of name servers, but 1 and 2");
    refused("PATCH", &settings, &of_set(6), "/nameservers/ns_set");
    let of_zone = json!({"nameservers": {"type": "custom.zone"}});
    refused("PATCH", &settings, &of_zone, "/nameservers/type");

    // Names of its own, once each has an address.
    let own = |names: &[&str]| json!({"vanity_name_servers": names});
    for (name, why) in [
        ("ns1.example.com", "no A or AAAA record"),
        ("example.com", "is not below"),
        ("ns1.edge.example", "is not below"),
        ("evilexample.com", "is not below"),
        ("ns 1.example.com", ""),
    ] {
        let found = refused("PATCH", zone, &own(&[name]), "/vanity_name_servers/0");
        assert!(found.contains(why), "{name}: {found}");
    }
    let record = |name: &str, proxied: bool| json!({"type": "A", "name": name, "content": "203.0.113.9", "proxied": proxied});
    api.post(&records, &record("ns1", false));
    api.post(&records, &record("ns2", true));
    refused("PATCH", zone, &own(&["ns1.example.com", "ns2.example.com"]), "/vanity_name_servers/1");
    assert_eq!(served(), set_2, "nothing of what was refused");
    let changed = api.result("PATCH", zone, &own(&["NS1.example.com", "ns1.example.com"]));
    assert_eq!(changed["vanity_name_servers"], json!(["ns1.example.com"]));
    assert_eq!(served(), ["ns1.example.com"]);
    assert_eq!(api.get(&settings)["nameservers"]["type"], "custom.zone");
    // A set in their place, and back.
    api.result("PATCH", &settings, &of_set(1));
    assert_eq!(served(), set_1);
    api.result("PATCH", &settings, &of_zone);
    assert_eq!(served(), ["ns1.example.com"]);
    api.result("PATCH", zone, &own(&[]));
    assert_eq!(
        (served(), api.get(&settings)["nameservers"]["type"].clone()),
        (set_1.map(str::to_owned).to_vec(), json!("custom.account"))
    );

    // A set that goes leaves its zones with the first.
    api.result("PATCH", &settings, &of_set(2));
    assert_eq!(served(), set_2);
    let conf = std::fs::read_to_string(edge.folder.path().join("p.toml")).unwrap();
    edge.rewrite(&conf.replace(SET_2, ""));
    edge.signal("HUP");
    wait_for("the first set", || (api.get(zone)["name_servers"] == json!(set_1)).then_some(()));
    assert_eq!(served(), set_1);
}

#[test]
fn a_name_server_keeps_its_address_for_as_long_as_it_is_one() {
    let (_edge, api, _, records) = name_server("");
    let zone = records.trim_end_matches("/dns_records");
    api.post(&records, &json!({"type": "A", "name": "ns1", "content": "203.0.113.9"}));
    api.result("PATCH", zone, &json!({"vanity_name_servers": ["ns1.example.com"]}));
    let list = api.get(&format!("{records}?name=ns1.example.com"));
    let address = format!("{records}/{}", list[0]["id"].as_str().unwrap());
    for (method, body) in [
        ("DELETE", Value::Null),
        ("PATCH", json!({"name": "ns9"})),
        ("PATCH", json!({"content": "203.0.113.9", "proxied": true})),
    ] {
        let (status, answer) = api.call(method, &address, &body);
        assert_eq!(status, 409, "{method} {body}: {answer}");
    }
    api.post(&records, &json!({"type": "AAAA", "name": "ns1", "content": "2001:db8::53"}));
    api.result("DELETE", &address, &Value::Null);
    api.result("PATCH", zone, &json!({"vanity_name_servers": []}));
    let left = api.get(&format!("{records}?name=ns1.example.com"));
    api.result("DELETE", &format!("{records}/{}", left[0]["id"].as_str().unwrap()), &Value::Null);
}

#[test]
fn sets_that_mean_nothing_are_refused() {
    let check = |sets: &str| {
        crate::support::refused_by_check(&format!(
            "[[listeners]]\naddress = \"127.0.0.1:0\"\n[dns]\nname_servers = [\"ns1.edge.example\"]\n{sets}"
        ))
    };
    let set =
        |number: &str, names: &str| format!("[[dns.name_server_sets]]\nns_set = {number}\nnames = {names}\n");
    for (sets, expected) in [
        (set("1", "[\"a.example\"]"), "set 1 is `dns.name_servers`"),
        (set("6", "[\"a.example\"]"), "expected a number from 2 to 5"),
        (set("2", "[]"), "one name at least"),
        (set("2", "[\"a b\"]"), "a b"),
        (set("2", "[\"a.example\"]") + &set("2", "[\"b.example\"]"), "two sets 2"),
    ] {
        let found = check(&sets);
        assert!(found.contains(expected), "{sets}: {found}");
    }
}
