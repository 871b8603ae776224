//! Zones that other name servers get from here: AXFR, IXFR, NOTIFY and TSIG, asked by `dig`.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::dns_server::{dig, name_server};
use crate::support::{Api, wait_for};

const PARTNERS: &str = "/accounts/default/secondary_dns";

/// A secret that is put together, so that nobody takes it for one.
fn secret() -> String {
    STANDARD.encode("0123456789abcdef".repeat(2))
}

/// A zone whose peer has an address and, if it is named, a key; the path of its transfers.
fn handed_over(api: &Api, records: &str, peer: SocketAddr, algorithm: Option<&str>) -> String {
    let key = algorithm.map(|algorithm| {
        let key = json!({"name": "svc-key.example", "algo": algorithm, "secret": secret()});
        api.post(&format!("{PARTNERS}/tsigs"), &key)["id"].clone()
    });
    let made = json!({"name": "ns2", "ip": peer.ip(), "port": peer.port(), "tsig_id": key});
    let peer = api.post(&format!("{PARTNERS}/peers"), &made)["id"].clone();
    let zone = records.trim_end_matches("/dns_records");
    let path = format!("{zone}/secondary_dns/outgoing");
    api.post(&path, &json!({"name": "example.com.", "peers": [peer]}));
    path
}

fn serial(soa: &str) -> u32 {
    soa.split(' ').nth(6).unwrap().parse().unwrap()
}

/// What dig gets of a zone, without the records that begin and end it and those that sign messages.
fn transferred(names: SocketAddr, question: &str) -> Vec<String> {
    let (_, mut records) = dig(names, question);
    records.retain(|record| !record.contains(" TSIG "));
    if let [first, between @ .., last] = &records[..] {
        assert!(first.contains(" SOA ") && first == last, "it begins with {first} and ends with {last}");
        return between.to_vec();
    }
    records
}

#[test]
fn peers_get_the_zone_whole_and_strangers_nothing() {
    let (_edge, api, names, records) = name_server("private_peers = true\n");
    for (record_type, name, content) in [
        ("A", "www", "192.0.2.1"),
        ("A", "www", "192.0.2.2"),
        ("TXT", "*.wild", "w"),
        ("CNAME", "api", "www.example.com"),
    ] {
        api.post(&records, &json!({"type": record_type, "name": name, "content": content, "ttl": 60}));
    }
    api.post(&records, &json!({"type": "A", "name": "edge", "content": "198.51.100.1", "proxied": true}));
    assert!(transferred(names, "example.com AXFR").is_empty(), "nobody may have it yet");
    let path = handed_over(&api, &records, "127.0.0.7:53".parse().unwrap(), None);
    assert!(transferred(names, "example.com AXFR").is_empty(), "127.0.0.1 is no peer");
    let mut found = transferred(names, "example.com AXFR -b 127.0.0.7");
    found.sort();
    let expected = [
        "*.wild.example.com. 60 IN TXT \"w\"",
        "api.example.com. 60 IN CNAME www.example.com.",
        "edge.example.com. 300 IN A 192.0.2.53",
        "edge.example.com. 300 IN AAAA 2001:db8::53",
        "example.com. 86400 IN NS ns1.edge.example.",
        "example.com. 86400 IN NS ns2.edge.example.",
        "www.example.com. 60 IN A 192.0.2.1",
        "www.example.com. 60 IN A 192.0.2.2",
    ];
    assert_eq!(found, expected);
    // Neither names below the zone nor over UDP.
    assert!(transferred(names, "www.example.com AXFR -b 127.0.0.7").is_empty());
    let shown = api.get(&path);
    assert_eq!(shown["name"], "example.com");
    assert!(shown["last_transferred_time"].as_str().unwrap().starts_with("20"), "{shown}");
    let soa = dig(names, "example.com SOA").1.remove(0);
    assert_eq!(shown["soa_serial"], serial(&soa));
    for (action, word) in [("disable", "Disabled"), ("enable", "Enabled")] {
        assert_eq!(api.post(&format!("{path}/{action}"), &json!({})), word);
        assert_eq!(api.get(&format!("{path}/status")), word);
        let is_there = !transferred(names, "example.com AXFR -b 127.0.0.7").is_empty();
        assert_eq!(is_there, word == "Enabled");
    }
    // A network may ask, too.
    let acl = api.post(&format!("{PARTNERS}/acls"), &json!({"name": "office", "ip_range": "127.0.0.1"}));
    assert_eq!(acl["ip_range"], "127.0.0.1/32");
    assert_eq!(transferred(names, "example.com AXFR").len(), expected.len());
    api.result("DELETE", &path, &Value::Null);
    assert!(transferred(names, "example.com AXFR").is_empty());
}

#[test]
fn what_the_file_changes_has_another_serial() {
    let (mut edge, api, names, records) = name_server("private_peers = true\n");
    handed_over(&api, &records, "127.0.0.1:53".parse().unwrap(), None);
    let shown = |names: SocketAddr| {
        (serial(&dig(names, "example.com SOA").1[0]), transferred(names, "example.com AXFR").join("\n"))
    };
    let first = shown(names).0;
    let conf = std::fs::read_to_string(edge.folder.path().join("p.toml")).unwrap();
    let other = conf.replace("NS2.edge", "ns3.edge");
    edge.rewrite(&other);
    let (second, zone) = wait_for("the other name server", || {
        Some(shown(names)).filter(|(serial, zone)| zone.contains("ns3.edge") && *serial > first)
    });
    assert!(!zone.contains("ns2.edge"), "{zone}");
    // What does not stand in zones is no change of them.
    let before = edge.metric("portcullis_snapshot_revision");
    edge.rewrite(&format!("{other}query_log = 9\n"));
    wait_for("the file", || (edge.metric("portcullis_snapshot_revision") > before).then_some(()));
    assert_eq!(shown(names).0, second);
    // While nobody watches the file.
    let mut last = second;
    for addresses in ["2001:db8::53", "2001:db8::54", "2001:db8::54"] {
        edge.signal("KILL");
        edge.wait_for_exit();
        edge.rewrite(&other.replace("2001:db8::53", addresses));
        edge = edge.again();
        let names = crate::dns_server::names(&edge);
        let is_change = addresses.ends_with("54") && last == second;
        let serial = wait_for("the serial", || {
            Some(shown(names).0).filter(|serial| if is_change { *serial > last } else { *serial == last })
        });
        last = serial;
    }
    assert!(last > second);
}

#[test]
fn a_long_zone_is_handed_over_in_parts() {
    let (_edge, api, names, records) = name_server("private_peers = true\n");
    let lines: String = (0..6_000).map(|nth| format!("host-{nth} 300 A 192.0.2.{}\n", nth % 250)).collect();
    let imported = api.ask("POST", &format!("{records}/import"), "content-type: text/plain\r\n", &lines);
    assert_eq!(imported.status, 200, "{}", imported.text());
    handed_over(&api, &records, "127.0.0.1:53".parse().unwrap(), Some("hmac-sha512"));
    let question = format!("example.com AXFR -y hmac-sha512:svc-key.example:{}", secret());
    let hosts = |record: &&String| record.starts_with("host-");
    assert_eq!(transferred(names, &question).iter().filter(hosts).count(), 6_000);
    // dig shows the signature of each message.
    let signatures = dig(names, &question).1.iter().filter(|record| record.contains(" TSIG ")).count();
    assert!(signatures >= 2, "{signatures} messages");
}

#[test]
fn requests_are_signed_by_the_key_of_the_peer() {
    let (_edge, api, names, records) = name_server("private_peers = true\n");
    api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.1", "ttl": 60}));
    let mut ran = 0;
    for algorithm in ["hmac-sha1", "hmac-sha224", "hmac-sha256", "HMAC-SHA384.", "hmac-sha512"] {
        let path = handed_over(&api, &records, "127.0.0.1:53".parse().unwrap(), Some(algorithm));
        let word = algorithm.trim_end_matches('.').to_lowercase();
        let asked = |question: &str, algorithm: &str, name: &str, secret: &str| {
            dig(names, &format!("{question} -y {algorithm}:{name}:{secret}"))
        };
        let sound = |question: &str| asked(question, &word, "svc-key.example", &secret());
        assert!(dig(names, "example.com AXFR").1.is_empty(), "without a signature");
        let whole = sound("example.com AXFR").1;
        assert!(whole.iter().any(|record| record.starts_with("www.")), "{whole:?}");
        // Other queries may be signed too, and are answered with a signature, which dig checks.
        for question in
            ["www.example.com A", "www.example.com A +tcp", "example.com SOA", "nothing.example.com A"]
        {
            let (status, records) = sound(question);
            assert!(matches!(status.as_str(), "NOERROR" | "NXDOMAIN"), "{question}: {status}");
            assert!(
                records.iter().any(|record| record.contains(" TSIG ") && record.ends_with(" NOERROR 0")),
                "{records:?}"
            );
        }
        let other = STANDARD.encode("fedcba9876543210".repeat(2));
        for (question, name, secret) in [
            ("www.example.com A", "svc-key.example", &other),
            ("www.example.com A", "unknown.example", &secret()),
            ("elsewhere.example A", "svc-key.example", &secret()),
        ] {
            let (status, records) = asked(question, &word, name, secret);
            assert_eq!(status, "NOTAUTH", "{question} by {name}: {records:?}");
            assert!(!records.iter().any(|record| record.contains(" A ")), "{records:?}");
        }
        assert!(
            !asked("example.com AXFR", &word, "svc-key.example", &other)
                .1
                .iter()
                .any(|record| record.contains(" A "))
        );
        api.result("DELETE", &path, &Value::Null);
        ran += 1;
    }
    assert_eq!(ran, 5);
}

#[test]
fn changes_are_handed_over_since_the_serial_of_the_client() {
    let (_edge, api, names, records) = name_server("private_peers = true\n");
    handed_over(&api, &records, "127.0.0.1:53".parse().unwrap(), None);
    let now = || serial(&dig(names, "example.com SOA").1[0]);
    let post = |name: &str, content: &str| {
        let made = api.post(&records, &json!({"type": "A", "name": name, "content": content, "ttl": 60}));
        format!("{records}/{}", made["id"].as_str().unwrap())
    };
    post("kept", "192.0.2.1");
    let first = now();
    let gone = post("gone", "192.0.2.2");
    let second = now();
    api.result("DELETE", &gone, &Value::Null);
    post("kept", "192.0.2.3");
    let last = now();
    let names_of = |since: u32| -> Vec<String> {
        let (_, records) = dig(names, &format!("example.com IXFR={since}"));
        records
            .iter()
            .map(|record| match record.split(' ').collect::<Vec<_>>()[..] {
                [_, _, _, "SOA", .., serial, _, _, _, _] => serial.to_owned(),
                [name, _, _, _, .., content] => format!("{} {content}", name.split('.').next().unwrap()),
                _ => record.clone(),
            })
            .collect()
    };
    let [f, s, d, l] = [first, second, second + 1, last].map(|serial| serial.to_string());
    let since_first = [
        &l,
        &f,
        &s,
        "gone 192.0.2.2",
        &s,
        "gone 192.0.2.2",
        &d,
        &d,
        "kept 192.0.2.1",
        &l,
        "kept 192.0.2.1",
        "kept 192.0.2.3",
        &l,
    ];
    assert_eq!(names_of(first), since_first);
    assert_eq!(
        names_of(second),
        since_first[4..].iter().fold(vec![l.as_str()], |mut all, one| {
            all.push(one);
            all
        })
    );
    assert_eq!(names_of(last), [l.as_str()], "a client that is up to date");
    // Before the journal it gets all.
    let whole = names_of(1);
    assert!(
        whole.first() == Some(&l) && whole.last() == Some(&l) && whole.contains(&"kept 192.0.2.3".to_owned()),
        "{whole:?}"
    );
    let over_udp = dig(names, &format!("example.com IXFR={first} +notcp")).1;
    assert!(over_udp.len() == 1 && serial(&over_udp[0]) == last, "{over_udp:?}");
}

#[test]
fn peers_are_told_of_changes_until_they_answer() {
    let (mut edge, api, _, records) = name_server("private_peers = true\n");
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut buffer = [0; 512];
    let path = handed_over(&api, &records, peer.local_addr().unwrap(), Some("hmac-sha256"));
    let mut receive = || {
        let (bytes, from) = peer.recv_from(&mut buffer).unwrap();
        (buffer[..bytes].to_vec(), from)
    };
    let (message, from) = receive();
    // NOTIFY, with authority, for the SOA of the zone, and a record that signs it.
    assert_eq!(&message[2..12], [0x24, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    assert_eq!(&message[12..29], b"\x07example\x03com\0\0\x06\0\x01");
    assert!(message.windows(9).any(|window| window == b"\x07svc-key\x07"), "{message:?}");
    let (again, _) = receive();
    assert_eq!(again[..29], message[..29], "what is not answered is sent again");
    let answer = |message: &[u8], from: SocketAddr| {
        let mut answer = message.to_vec();
        answer[2] |= 0x80;
        peer.send_to(&answer, from).unwrap();
    };
    // An answer to something else is none.
    let mut other = again.clone();
    other[0] ^= 0xFF;
    answer(&other, from);
    answer(&again, from);
    edge.wait_for_event("zone_notified", |event| {
        event["is_answered"] == true && event["zone"] == "example.com"
    });
    api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.1", "ttl": 60}));
    let (changed, from) = receive();
    answer(&changed, from);
    assert_eq!(api.post(&format!("{path}/force_notify"), &json!({})), "OK");
    let (asked, from) = receive();
    answer(&asked, from);
    wait_for("three answers", || {
        edge.metrics().contains("portcullis_zone_notifications_total{outcome=\"answered\"} 3").then_some(())
    });
}

#[test]
fn partners_are_kept_checked_and_not_shown_to_everybody() {
    let (_edge, api, ..) = name_server("");
    let kinds: [(&str, Value, Value, &str); 3] = [
        (
            "acls",
            json!({"name": "a", "ip_range": "192.0.2.77/24"}),
            json!({"name": "b", "ip_range": "2001:db8::/64"}),
            "ip_range",
        ),
        (
            "tsigs",
            json!({"name": "K.example.", "algo": "hmac-sha256.", "secret": secret()}),
            json!({"name": "k2.example", "algo": "hmac-sha512", "secret": secret()}),
            "secret",
        ),
        (
            "peers",
            json!({"name": "p"}),
            json!({"name": "p2", "ip": "192.0.2.9", "port": 5353, "ixfr_enable": true}),
            "ip",
        ),
    ];
    for (kind, made, changed, field) in kinds {
        let path = format!("{PARTNERS}/{kind}");
        let first = api.post(&path, &made);
        let one = format!("{path}/{}", first["id"].as_str().unwrap());
        assert_eq!(api.get(&one), first);
        assert_eq!(api.get(&path), json!([first]));
        let second = api.result("PUT", &one, &changed);
        assert_eq!((&second["id"], &second["name"]), (&first["id"], &changed["name"]));
        assert_eq!(second[field], changed[field]);
        assert_eq!(api.result("DELETE", &one, &Value::Null), json!({"id": first["id"]}));
        assert_eq!(api.get(&path), json!([]));
        assert_eq!(api.ask("GET", &one, "", "").status, 404);
    }
    for (kind, body, pointer) in [
        ("acls", json!({"name": "a", "ip_range": "10.0.0.0/8"}), "/ip_range"),
        ("acls", json!({"name": "a", "ip_range": "2001:db8::/32"}), "/ip_range"),
        ("acls", json!({"ip_range": "192.0.2.1"}), "/name"),
        ("peers", json!({"name": "p", "ip": "127.0.0.1"}), "/ip"),
        ("peers", json!({"name": "p", "ip": "ns.example"}), "/ip"),
        ("peers", json!({"name": "p", "tsig_id": "none"}), "/tsig_id"),
        ("peers", json!({"name": "p", "port": 0}), "/port"),
        ("tsigs", json!({"name": "k", "algo": "hmac-md5", "secret": secret()}), "/algo"),
        ("tsigs", json!({"name": "k", "algo": "hmac-sha256", "secret": STANDARD.encode("short")}), "/secret"),
        ("tsigs", json!({"name": "k", "algo": "hmac-sha256", "secret": "***"}), "/secret"),
        ("tsigs", json!({"name": "a..b", "algo": "hmac-sha256", "secret": secret()}), "/name"),
    ] {
        let refused = api.ask("POST", &format!("{PARTNERS}/{kind}"), "", &body.to_string());
        let text = refused.text();
        assert!(
            refused.status == 400 && text.contains(&format!("\"pointer\":\"{pointer}\"")),
            "{body}: {text}"
        );
    }
}

#[test]
fn what_is_needed_stays_and_signed_zones_are_not_handed_over() {
    let (edge, api, _, records) = name_server("private_peers = true\n");
    let key = api
        .post(&format!("{PARTNERS}/tsigs"), &json!({"name": "k", "algo": "hmac-sha256", "secret": secret()}));
    let peer = api.post(
        &format!("{PARTNERS}/peers"),
        &json!({"name": "p", "ip": "127.0.0.1", "port": 9, "tsig_id": key["id"]}),
    );
    let zone = records.trim_end_matches("/dns_records");
    let outgoing = format!("{zone}/secondary_dns/outgoing");
    assert_eq!(api.ask("GET", &outgoing, "", "").status, 404);
    assert_eq!(api.ask("PUT", &outgoing, "", "{\"peers\":[]}").status, 404);
    let refused = api.ask("POST", &outgoing, "", "{\"name\":\"other.example\",\"peers\":[\"none\"]}").text();
    assert!(refused.contains("/name") && refused.contains("/peers"), "{refused}");
    api.post(&outgoing, &json!({"name": "example.com", "peers": [peer["id"]]}));
    for kind in
        [format!("tsigs/{}", key["id"].as_str().unwrap()), format!("peers/{}", peer["id"].as_str().unwrap())]
    {
        assert_eq!(api.ask("DELETE", &format!("{PARTNERS}/{kind}"), "", "").status, 409, "{kind}");
    }
    // Signatures are made here only.
    let refused = api.ask("PATCH", &format!("{zone}/dnssec"), "", "{\"status\":\"active\"}");
    assert!(refused.status == 409 && refused.text().contains("outgoing"), "{}", refused.text());
    api.post(&format!("{outgoing}/disable"), &json!({}));
    api.result("PATCH", &format!("{zone}/dnssec"), &json!({"status": "active"}));
    assert_eq!(api.ask("POST", &format!("{outgoing}/enable"), "", "").status, 409);
    assert!(!edge.log_text().contains(&secret()), "no log has the secret");
}
