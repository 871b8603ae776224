//! Signed zones, validated by `delv` (Debian's package bind9-dnsutils) from the key that the API shows.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::dns_server::{dig, name_server};
use crate::support::Api;

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
        ("active".to_owned(), "13".to_owned(), Some(257))
    );
    assert!(text("ds").ends_with(&format!("IN DS {} 13 2 {}", shown["key_tag"], text("digest"))));
    let anchor = edge.folder.path().join("anchor");
    std::fs::write(
        &anchor,
        format!("trust-anchors {{ \"example.com\" static-key 257 3 13 \"{}\"; }};", text("public_key")),
    )
    .unwrap();
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
        [json!({"status": "sometimes"}), json!({"dnssec_use_nsec3": true}), json!({"dnssec_presigned": true})]
    {
        assert_eq!(api.refused("PATCH", &path, &wrong), (400, vec![10008]));
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
