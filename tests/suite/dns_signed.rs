//! Signed zones, validated by `delv` (Debian's package bind9-dnsutils) from the key that the API shows.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::dns_server::{dig, name_server};
use crate::support::{Api, Edge, wait_for};

/// What `delv` says of a question, from a zone's key.
fn delv(server: SocketAddr, anchor: &Path, question: &str) -> String {
    let output = Command::new("delv")
        .arg(format!("@{}", server.ip()))
        .args(["-p", &server.port().to_string(), "-a", anchor.to_str().unwrap(), "+root=example.com"])
        .args(question.split(' '))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

/// A file by which `delv` trusts a key that the API shows.
fn anchor(edge: &Edge, shown: &Value) -> PathBuf {
    let file = edge.folder.path().join(format!("anchor-{}", shown["key_tag"]));
    let key = shown["public_key"].as_str().unwrap();
    std::fs::write(&file, format!("trust-anchors {{ \"example.com\" static-key 257 3 13 \"{key}\"; }};"))
        .unwrap();
    file
}

fn zone_with_records(api: &Api, records: &str) {
    for (kind, name, content) in [
        ("A", "www", "192.0.2.2"),
        ("A", "www", "192.0.2.1"),
        ("CNAME", "alias", "www.example.com"),
        ("TXT", "*.wild", "w"),
        ("CNAME", "*.walias", "www.example.com"),
        ("NS", "sub", "ns.example.net"),
        ("NS", "sec", "ns.example.net"),
        ("A", "a.b.c", "192.0.2.3"),
    ] {
        api.post(records, &json!({"type": kind, "name": name, "content": content}));
    }
    let ds = json!({"key_tag": 1, "algorithm": 13, "digest_type": 2, "digest": "ab".repeat(32)});
    api.post(records, &json!({"type": "DS", "name": "sec", "data": ds}));
    api.post(records, &json!({"type": "A", "name": "proxied", "content": "198.51.100.1", "proxied": true}));
}

#[test]
fn answers_of_a_signed_zone_are_validated() {
    let (edge, api, names, records) = name_server("");
    zone_with_records(&api, &records);
    let path = format!("{}/dnssec", records.trim_end_matches("/dns_records"));
    assert_eq!(api.get(&path)["status"], "disabled");
    assert!(dig(names, "www.example.com A +dnssec").1.len() == 2, "no signature");
    let shown = api.result("PATCH", &path, &json!({"status": "active"}));
    assert_eq!(api.get(&path), shown);
    let text = |field: &str| shown[field].as_str().unwrap().to_owned();
    assert_eq!(
        (text("status"), text("algorithm"), shown["flags"].as_u64()),
        ("pending".to_owned(), "13".to_owned(), Some(257))
    );
    assert!(text("ds").ends_with(&format!("IN DS {} 13 2 {}", shown["key_tag"], text("digest"))));
    let anchor = anchor(&edge, &shown);
    for (question, part) in [
        ("www.example.com A", "IN\tA\t192.0.2.1"),
        ("alias.example.com A", "IN\tA\t192.0.2.2"),
        ("x.wild.example.com TXT", "IN\tTXT\t\"w\""),
        ("x.y.wild.example.com TXT", "IN\tTXT\t\"w\""),
        ("x.walias.example.com A", "IN\tA\t192.0.2.2"),
        ("proxied.example.com A", "IN\tA\t192.0.2.53"),
        ("example.com SOA", "IN\tSOA\tns1.edge.example."),
        ("example.com NS", "IN\tNS\tns2.edge.example."),
        ("example.com DNSKEY", "IN\tDNSKEY\t257 3 13"),
        ("example.com CDS", "13 2"),
        ("example.com CDNSKEY", "257 3 13"),
        ("sec.example.com DS", "IN\tDS\t1 13 2"),
        ("x.wild.example.com A", "NSEC \\000.x.wild.example.com. TXT RRSIG NSEC"),
        ("nothing.example.com A", "NSEC \\000.nothing.example.com. RRSIG NSEC TYPE128"),
        ("www.example.com MX", "NSEC \\000.www.example.com. A RRSIG NSEC"),
        ("b.c.example.com A", "NSEC \\000.b.c.example.com. RRSIG NSEC"),
        ("sub.example.com DS", "NSEC \\000.sub.example.com. NS RRSIG NSEC"),
        ("example.com MX", "NSEC \\000.example.com. NS SOA RRSIG NSEC DNSKEY CDS CDNSKEY"),
    ] {
        let said = delv(names, &anchor, question);
        assert!(said.contains("fully validated") && said.contains(part), "{question}: {said}");
    }
    let referral = dig(names, "x.sec.example.com A +dnssec +norec").1;
    assert!(
        referral.iter().any(|line| line.contains("IN DS 1 13 2"))
            && referral.iter().any(|line| line.contains("RRSIG DS")),
        "{referral:?}"
    );
    assert_eq!(
        dig(names, "nothing.example.com A").0,
        "NXDOMAIN",
        "who asks for no signature gets the plain code"
    );
    // Signed no more with the same key kept; then without it.
    assert_eq!(api.result("PATCH", &path, &json!({"status": "disabled"}))["key_tag"], shown["key_tag"]);
    assert_eq!(dig(names, "www.example.com A +dnssec").1.len(), 2);
    assert_eq!(api.result("PATCH", &path, &json!({"status": "active"}))["ds"], shown["ds"]);
    assert_eq!(api.result("DELETE", &path, &Value::Null), "");
    assert_ne!(api.result("PATCH", &path, &json!({"status": "active"}))["ds"], shown["ds"]);
    for wrong in
        [json!({"status": "sometimes"}), json!({"dnssec_use_nsec3": 1}), json!({"dnssec_presigned": true})]
    {
        assert_eq!(api.refused("PATCH", &path, &wrong), (400, vec![10008]));
    }
}

#[test]
fn denials_by_hashes_of_names_are_validated() {
    let (mut edge, api, names, records) = name_server("");
    zone_with_records(&api, &records);
    let path = format!("{}/dnssec", records.trim_end_matches("/dns_records"));
    let shown = api.result("PATCH", &path, &json!({"status": "active", "dnssec_use_nsec3": true}));
    assert_eq!((&shown["dnssec_use_nsec3"], &api.get(&path)), (&json!(true), &shown));
    let anchor = anchor(&edge, &shown);
    let holds = |names: SocketAddr| {
        for (question, part) in [
            ("www.example.com A", "IN\tA\t192.0.2.1"),
            ("x.wild.example.com TXT", "IN\tTXT\t\"w\""),
            ("alias.example.com A", "IN\tA\t192.0.2.2"),
            ("example.com NSEC3PARAM", "IN\tNSEC3PARAM 1 0 0 -"),
            // The hash of `nothing.example.com`.
            ("nothing.example.com A", "NSEC3 1 0 0 - "),
            ("x.y.nothing.example.com A", " TYPE128"),
            ("www.example.com MX", " A RRSIG"),
            ("alias.example.com NSEC3PARAM", " A RRSIG"),
            ("x.wild.example.com A", " TXT RRSIG"),
            ("b.c.example.com A", "NSEC3 1 0 0 - "),
            ("sub.example.com DS", " NS\n"),
            ("example.com MX", " NS SOA RRSIG DNSKEY NSEC3PARAM CDS CDNSKEY"),
        ] {
            let said = delv(names, &anchor, question);
            assert!(said.contains("fully validated") && said.contains(part), "{question}: {said}");
        }
    };
    holds(names);
    for question in ["x.sub.example.com A +dnssec +norec", "nothing.example.com NSEC +dnssec"] {
        let lines = dig(names, question).1;
        assert!(lines.iter().any(|line| line.contains("IN NSEC3 1 0 0 - ")), "{question}: {lines:?}");
        assert!(lines.iter().all(|line| !line.contains("IN NSEC ")), "{question}: {lines:?}");
    }
    edge.signal("KILL");
    edge.wait_for_exit();
    let edge = edge.again();
    holds(crate::dns_server::names(&edge));
    let api = Api::new(&edge, crate::api::TOKEN);
    assert_eq!(api.result("PATCH", &path, &json!({"dnssec_use_nsec3": false}))["dnssec_use_nsec3"], false);
    assert!(
        delv(crate::dns_server::names(&edge), &anchor, "nothing.example.com A")
            .contains("NSEC \\000.nothing")
    );
}

#[test]
fn names_of_a_signed_zone_show_their_denials() {
    let (edge, api, names, records) = name_server("");
    zone_with_records(&api, &records);
    let path = format!("{}/dnssec", records.trim_end_matches("/dns_records"));
    let unsigned = dig(names, "www.example.com NSEC").1;
    assert!(unsigned.iter().all(|line| line.contains("SOA")), "the zone is not signed: {unsigned:?}");
    let anchor = anchor(&edge, &api.result("PATCH", &path, &json!({"status": "active"})));
    for (name, types) in
        [("www", "A RRSIG NSEC"), ("alias", "CNAME RRSIG NSEC"), ("nothing", "RRSIG NSEC TYPE128")]
    {
        let said = delv(names, &anchor, &format!("{name}.example.com NSEC"));
        let shown = format!("NSEC\t\\000.{name}.example.com. {types}");
        assert!(said.contains("; fully validated") && said.contains(&shown), "{said}");
    }
}

#[test]
fn the_key_of_a_zone_is_shown_nowhere_and_survives_a_restart() {
    let (mut edge, api, _, records) = name_server("");
    let zone = records.trim_end_matches("/dns_records").to_owned();
    let shown = api.result("PATCH", &format!("{zone}/dnssec"), &json!({"status": "active"}));
    let said = format!("{}{}", api.get(&zone), api.get(&format!("{zone}/dnssec")));
    assert!(!said.contains("MIGH") && !said.contains("\"key\":"), "{said}");
    edge.signal("KILL");
    edge.wait_for_exit();
    let edge = edge.again();
    let api = Api::new(&edge, crate::api::TOKEN);
    assert_eq!(api.get(&format!("{zone}/dnssec")), shown);
    let names = crate::dns_server::names(&edge);
    assert_eq!(dig(names, "example.com DNSKEY").1.len(), 1);
}

#[test]
fn a_zone_is_active_if_the_zone_above_has_its_record() {
    let (_above, other, resolver, others) = name_server("");
    let (_edge, api, ..) = name_server(&format!("resolvers = [\"{resolver}\"]\n"));
    let zone = api.post("/zones", &json!({"name": "sub.example.com"}));
    let path = format!("/zones/{}/dnssec", zone["id"].as_str().unwrap());
    let set = |status: &str| api.result("PATCH", &path, &json!({ "status": status }))["status"].clone();
    let reached = |status: &str| wait_for(status, || (api.get(&path)["status"] == status).then_some(()));
    assert_eq!((set("active"), set("disabled")), (json!("pending"), json!("disabled")));
    other.post(&others, &json!({"type": "NS", "name": "sub", "content": "ns1.edge.example"}));
    let digest = api.get(&path)["digest"].clone();
    let data =
        json!({"key_tag": api.get(&path)["key_tag"], "algorithm": 13, "digest_type": 2, "digest": digest});
    let ds = other.post(&others, &json!({"type": "DS", "name": "sub", "data": data}));
    reached("pending-disabled");
    assert_eq!(set("active"), "active");
    other.result("DELETE", &format!("{others}/{}", ds["id"].as_str().unwrap()), &Value::Null);
    assert_eq!(set("pending"), "active", "what was read is sent back; the zone above is asked once an hour");
    assert_eq!(set("disabled"), "pending-disabled");
    reached("disabled");
}

#[test]
fn the_key_of_a_zone_changes_and_answers_hold_meanwhile() {
    let (edge, api, names, records) = name_server("");
    zone_with_records(&api, &records);
    let path = format!("{}/dnssec", records.trim_end_matches("/dns_records"));
    let rollover = format!("{path}/rollover");
    for (verb, path) in [("POST", &rollover), ("POST", &format!("{rollover}/advance")), ("DELETE", &rollover)]
    {
        assert_eq!(api.ask(verb, path, "", "").status, 409, "{verb} {path}: the zone is not signed");
    }
    let first = api.result("PATCH", &path, &json!({"status": "active"}));
    let before = anchor(&edge, &first);
    // One that is given up, and the one that stays.
    api.post(&rollover, &json!({}));
    assert_eq!(api.ask("POST", &rollover, "", "").status, 409);
    assert_eq!(api.result("DELETE", &rollover, &Value::Null).get("rollover"), None);
    assert_eq!(dig(names, "example.com DNSKEY").1.len(), 1);
    let shown = api.post(&rollover, &json!({}));
    assert_eq!((&shown["ds"], &shown["rollover"]["stage"]), (&first["ds"], &json!("published")));
    let after = anchor(&edge, &shown["rollover"]);
    let new_ds = shown["rollover"]["ds"].clone();
    let is_valid = |anchor: &Path, question: &str| delv(names, anchor, question).contains("fully validated");
    let holds = |anchors: &[&Path]| {
        for anchor in anchors {
            for question in
                ["www.example.com A", "example.com DNSKEY", "nothing.example.com A", "x.walias.example.com A"]
            {
                assert!(is_valid(anchor, question), "{question}: {}", delv(names, anchor, question));
            }
        }
    };
    let announced = |ds: &Value| {
        let cds = dig(names, "example.com CDS").1.remove(0).replace(' ', "");
        cds.ends_with(&ds.as_str().unwrap().split("IN DS ").nth(1).unwrap().replace(' ', ""))
    };
    holds(&[&before, &after]);
    assert_eq!(dig(names, "example.com DNSKEY").1.len(), 2);
    assert!(announced(&first["ds"]));
    let advance = || api.post(&format!("{rollover}/advance"), &json!({}));
    assert_eq!(advance()["rollover"]["stage"], "announced");
    holds(&[&before, &after]);
    assert!(announced(&new_ds));
    let retiring = advance();
    assert_eq!((&retiring["ds"], &retiring["rollover"]["ds"]), (&new_ds, &first["ds"]));
    holds(&[&before, &after]);
    assert!(announced(&new_ds));
    assert_eq!(api.ask("DELETE", &rollover, "", "").status, 409, "the new key signs already");
    assert_eq!(advance().get("rollover"), None);
    holds(&[&after]);
    assert!(!is_valid(&before, "www.example.com A"), "the key that was is gone");
    assert_eq!(api.ask("POST", &format!("{rollover}/advance"), "", "").status, 409);
}
