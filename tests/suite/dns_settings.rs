//! DNS settings of zones and accounts over the API, and what is served by them.

use serde_json::json;

use crate::dns_server::{dig, name_server};

#[test]
fn settings_of_a_zone_are_served_and_bounded() {
    let (_edge, api, names, records) = name_server("");
    let path = format!("{}/dns_settings", records.trim_end_matches("/dns_records"));
    let settings = api.get(&path);
    let soa = json!({"mname": null, "rname": "hostmaster.example.com", "refresh": 10_000, "retry": 2_400, "expire": 604_800,
        "min_ttl": 1_800, "ttl": 3_600});
    assert_eq!(
        (&settings["soa"], &settings["ns_ttl"], &settings["zone_mode"]),
        (&soa, &json!(86_400), &json!("standard"))
    );
    let change = json!({"ns_ttl": 3_600, "soa": {"mname": "primary.example.net", "rname": "a.b@example.org", "refresh": 600, "retry": 600,
        "expire": 86_400, "min_ttl": 60, "ttl": 1_800}});
    let changed = api.result("PATCH", &path, &change);
    assert_eq!(changed["soa"]["rname"], "a\\.b.example.org");
    assert_eq!(api.get(&path), changed);
    let answer = dig(names, "example.com SOA").1;
    assert!(
        answer[0].starts_with("example.com. 1800 IN SOA primary.example.net. a\\.b.example.org. ")
            && answer[0].ends_with(" 600 600 86400 60"),
        "{answer:?}"
    );
    assert!(dig(names, "nothing.example.com A").1[0].starts_with("example.com. 60 IN SOA"));
    assert_eq!(dig(names, "example.com NS").1[0], "example.com. 3600 IN NS ns1.edge.example.");
    for (field, low, high) in [
        ("refresh", 599, 86_401),
        ("retry", 599, 3_601),
        ("expire", 86_399, 2_419_201),
        ("ttl", 1_799, 3_601),
        ("min_ttl", 59, 86_401),
    ] {
        for value in [low, high] {
            let (status, answer) = api.call("PATCH", &path, &json!({"soa": {field: value}}));
            let pointer = &answer["errors"][0]["source"]["pointer"];
            assert_eq!(
                (status, pointer),
                (400, &json!(format!("/soa/{field}"))),
                "{field} {value}: {answer}"
            );
        }
    }
    for (body, pointer) in [
        (json!({"soa": {"retry": 700}}), "/soa/retry"),
        (json!({"soa": {"expire": 86_400, "refresh": 86_401}}), "/soa/refresh"),
        (json!({"ns_ttl": 29}), "/ns_ttl"),
        (json!({"zone_mode": "none"}), "/zone_mode"),
        (json!({"nameservers": {"type": "none"}}), "/nameservers/type"),
        (json!({"soa": {"mname": "a..b"}}), "/soa/mname"),
    ] {
        let (status, answer) = api.call("PATCH", &path, &body);
        assert_eq!(
            (status, &answer["errors"][0]["source"]["pointer"]),
            (400, &json!(pointer)),
            "{body}: {answer}"
        );
    }
    api.post(&records, &json!({"type": "NS", "name": "@", "content": "ns.elsewhere.example"}));
    assert_eq!(dig(names, "example.com NS").1.len(), 2, "the zone's own name servers");
    api.result("PATCH", &path, &json!({"multi_provider": true}));
    assert_eq!(dig(names, "example.com NS").1.len(), 3, "with those of others");
    api.post(&records, &json!({"type": "A", "name": "p", "content": "198.51.100.1", "proxied": true}));
    api.result("PATCH", &path, &json!({"zone_mode": "dns_only"}));
    assert_eq!(dig(names, "p.example.com A").1, ["p.example.com. 300 IN A 198.51.100.1"]);
    api.result("PATCH", &path, &json!({"zone_mode": "cdn_only"}));
    assert_eq!(dig(names, "p.example.com A").0, "REFUSED");
}

#[test]
fn settings_of_an_account_are_what_new_zones_begin_with() {
    let (_edge, api, names, _) = name_server("");
    let account = api.post("/accounts", &json!({"name": "a"}))["id"].as_str().unwrap().to_owned();
    let path = format!("/accounts/{account}/dns_settings");
    assert_eq!(api.get(&path)["zone_defaults"]["soa"]["refresh"], 10_000);
    let changed = api.result(
        "PATCH",
        &path,
        &json!({"zone_defaults": {"flatten_all_cnames": true, "soa": {"refresh": 7_200}}}),
    );
    assert_eq!(
        (&changed["zone_defaults"]["soa"]["refresh"], &changed["enforce_dns_only"]),
        (&json!(7_200), &json!(false))
    );
    let zone = api.post("/zones", &json!({"name": "new.example", "account": {"id": account}}));
    let zone = format!("/zones/{}", zone["id"].as_str().unwrap());
    let settings = api.get(&format!("{zone}/dns_settings"));
    assert_eq!((&settings["flatten_all_cnames"], &settings["soa"]["refresh"]), (&json!(true), &json!(7_200)));
    api.post(
        &format!("{zone}/dns_records"),
        &json!({"type": "A", "name": "@", "content": "198.51.100.1", "proxied": true}),
    );
    assert_eq!(dig(names, "new.example A").1, ["new.example. 300 IN A 192.0.2.53"]);
    api.result("PATCH", &path, &json!({"enforce_dns_only": true}));
    assert_eq!(dig(names, "new.example A").1, ["new.example. 300 IN A 198.51.100.1"]);
    let wrong = json!({"zone_defaults": {"soa": {"refresh": 1}}});
    let (_, answer) = api.call("PATCH", &path, &wrong);
    assert_eq!(answer["errors"][0]["source"]["pointer"], "/zone_defaults/soa/refresh", "{answer}");
}
