//! The name server, asked by `dig`: what is written over the API is what resolvers get with the next query.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::listener::tls_listener;
use crate::support::{Api, Client, Edge, Origin, certificate, curl, run_cli, wait_for};

const SETTINGS: &str = "listeners = [\"127.0.0.1:0\"]\naddresses = [\"192.0.2.53\", \"2001:db8::53\"]\n\
    name_servers = [\"ns1.edge.example\", \"NS2.edge.example.\"]\n";

/// An edge that answers queries, with a zone; where queries go and the path of the zone's records.
pub(crate) fn name_server(settings: &str) -> (Edge, Api, SocketAddr, String) {
    let edge = Edge::start(&format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
         [dns]\n{SETTINGS}{settings}\n"
    ));
    let names = names(&edge);
    let api = Api::new(&edge, TOKEN);
    let zone = api.post("/zones", &json!({"name": "example.com"}));
    (edge, api, names, format!("/zones/{}/dns_records", zone["id"].as_str().unwrap()))
}

/// Where an edge answers queries.
pub(crate) fn names(edge: &Edge) -> SocketAddr {
    let started = edge.events().into_iter().find(|event| event["event"] == "server_started").unwrap();
    started["names"][0].as_str().unwrap().parse().unwrap()
}

/// The status of an answer, then the records of its sections, as `dig` shows them with one space between.
pub(crate) fn dig(server: SocketAddr, question: &str) -> (String, Vec<String>) {
    let arguments = ["+time=5", "+tries=1", "+noall", "+comments", "+answer", "+authority", "+additional"];
    let output = Command::new("dig")
        .arg(format!("@{}", server.ip()))
        .args(["-p", &server.port().to_string()])
        .args(arguments)
        .args(question.split(' '))
        .output()
        .expect("Debian's package bind9-dnsutils has dig");
    let text = String::from_utf8(output.stdout).unwrap();
    let status =
        text.split("status: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or(&text).to_owned();
    let records = text.lines().filter(|line| !line.starts_with(';') && !line.is_empty());
    (status, records.map(|line| line.split_ascii_whitespace().collect::<Vec<_>>().join(" ")).collect())
}

fn found(records: &[&str]) -> (String, Vec<String>) {
    ("NOERROR".to_owned(), records.iter().map(|record| (*record).to_owned()).collect())
}

const SOA: &str = "SOA ns1.edge.example. hostmaster.example.com.";

#[test]
fn records_are_answered_with_the_next_query() {
    let (_edge, api, names, records) = name_server("");
    let gone = dig(names, "www.example.com A");
    assert_eq!(gone.0, "NXDOMAIN");
    assert!(gone.1[0].starts_with(&format!("example.com. 1800 IN {SOA}")), "{gone:?}");
    let made = api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.1", "ttl": 120}));
    assert_eq!(dig(names, "www.example.com A"), found(&["www.example.com. 120 IN A 192.0.2.1"]));
    assert_eq!(dig(names, "www.example.com A +tcp"), found(&["www.example.com. 120 IN A 192.0.2.1"]));
    assert_eq!(dig(names, "WwW.Example.com A").1, ["WwW.Example.com. 120 IN A 192.0.2.1"]);
    let path = format!("{records}/{}", made["id"].as_str().unwrap());
    api.result("PATCH", &path, &json!({"content": "192.0.2.2", "ttl": 1}));
    assert_eq!(dig(names, "www.example.com A"), found(&["www.example.com. 300 IN A 192.0.2.2"]));
    let serial =
        |answer: (String, Vec<String>)| answer.1[0].split(' ').nth(6).unwrap().parse::<u32>().unwrap();
    let before = serial(dig(names, "example.com SOA"));
    api.result("DELETE", &path, &Value::Null);
    assert_eq!(dig(names, "www.example.com A").0, "NXDOMAIN");
    assert_eq!(serial(dig(names, "example.com SOA")), before + 1, "one change is one serial");
    assert_eq!(
        dig(names, "example.com NS"),
        found(&["example.com. 86400 IN NS ns1.edge.example.", "example.com. 86400 IN NS ns2.edge.example."])
    );
    assert_eq!(dig(names, "elsewhere.example A").0, "REFUSED");
    assert_eq!(dig(names, "version.bind CH TXT").0, "REFUSED");
    assert_eq!(dig(names, "example.com AXFR").1, Vec::<String>::new());
    assert_eq!(dig(names, "example.com ANY").1, ["example.com. 3600 IN HINFO \"RFC8482\" \"\""]);
    api.result("DELETE", records.trim_end_matches("/dns_records"), &Value::Null);
    assert_eq!(dig(names, "example.com SOA").0, "REFUSED");
    api.post("/zones", &json!({"name": "example.com"}));
    assert_eq!(dig(names, "example.com SOA").0, "NOERROR", "a zone of the same name");
}

/// Every type, as `dig` writes it.
#[test]
fn every_type_is_answered_as_it_was_written() {
    let (_edge, api, names, records) = name_server("");
    let lines = include_str!("../data/dns/types.jsonl").lines();
    let mut asked = 0;
    for line in lines {
        let (record_type, name, mut value, _): (String, String, Value, String) =
            serde_json::from_str(line).unwrap();
        (value["type"], value["name"]) = (json!(record_type), json!(name));
        let made = api.post(&records, &value);
        let question = format!("{}. {record_type}", made["name"].as_str().unwrap());
        let export = api.ask("GET", &format!("{records}/export"), "", "").text();
        let line = export.lines().find(|line| line.contains(&format!("\tIN\t{record_type}\t"))).unwrap();
        let line = line.split(" ; ").next().unwrap().replacen("\t1\t", "\t300\t", 1);
        let plain = |text: &str| {
            text.split_ascii_whitespace().collect::<Vec<_>>().join(" ").replace('"', "").to_lowercase()
        };
        let (status, answer) = dig(names, &question);
        if record_type == "NS" || record_type == "DS" {
            assert_eq!(status, "NOERROR");
        }
        let expected = match record_type.as_str() {
            // dig writes what it knows better.
            "LOC" => {
                "loc.example.com. 300 in loc 37 46 46.123 n 122 23 35.000 w -10.50m 100m 0.00m 20m".to_owned()
            }
            "CERT" => "cert.example.com. 300 in cert 9 1 dh aqid".to_owned(),
            _ => plain(&line),
        };
        let joined = |text: &str| text.replace(' ', "");
        assert_eq!(
            joined(&plain(&answer.first().cloned().unwrap_or_default())),
            joined(&expected),
            "{question}"
        );
        asked += 1;
    }
    assert_eq!(asked, 21);
}

#[test]
fn aliases_wildcards_and_delegations_are_followed() {
    let (_edge, api, names, records) = name_server("");
    for (record_type, name, content) in [
        ("A", "web", "192.0.2.1"),
        ("CNAME", "www", "web.example.com"),
        ("CNAME", "out", "www.example.org"),
        ("TXT", "*.wild", "w"),
        ("NS", "sub", "ns.sub.example.com"),
        ("A", "ns.sub", "192.0.2.9"),
        ("A", "a.deep.name", "192.0.2.2"),
        ("PTR", "4.3.2", "host.example.com"),
    ] {
        api.post(&records, &json!({"type": record_type, "name": name, "content": content}));
    }
    assert_eq!(
        dig(names, "www.example.com A"),
        found(&["www.example.com. 300 IN CNAME web.example.com.", "web.example.com. 300 IN A 192.0.2.1"])
    );
    assert_eq!(dig(names, "out.example.com A"), found(&["out.example.com. 300 IN CNAME www.example.org."]));
    assert_eq!(dig(names, "x.y.wild.example.com TXT"), found(&["x.y.wild.example.com. 300 IN TXT \"w\""]));
    assert_eq!(dig(names, "deep.name.example.com A").0, "NOERROR", "a name with names below it exists");
    assert_eq!(
        dig(names, "host.sub.example.com A +norec"),
        found(&["sub.example.com. 300 IN NS ns.sub.example.com.", "ns.sub.example.com. 300 IN A 192.0.2.9"])
    );
    // Flattened: by the record, and all of the zone.
    let found_alias = api.get(&format!("{records}?name=www.example.com"));
    let path = format!("{records}/{}", found_alias[0]["id"].as_str().unwrap());
    api.result("PATCH", &path, &json!({"settings": {"flatten_cname": true}}));
    assert_eq!(dig(names, "www.example.com A"), found(&["www.example.com. 300 IN A 192.0.2.1"]));
    api.post(&records, &json!({"type": "A", "name": "web", "content": "192.0.2.7", "ttl": 60}));
    assert_eq!(dig(names, "www.example.com A").1.len(), 2, "a flattened name follows what it leads to");
    api.post(&records, &json!({"type": "CNAME", "name": "@", "content": "web.example.com"}));
    assert_eq!(dig(names, "example.com A").1.len(), 2, "the zone's own name is always flattened");
    api.result("PATCH", &path, &json!({"settings": {"flatten_cname": false}}));
    assert_eq!(dig(names, "www.example.com A").1.len(), 3);
    let settings = format!("{}/dns_settings", records.trim_end_matches("/dns_records"));
    api.result("PATCH", &settings, &json!({"flatten_all_cnames": true}));
    assert_eq!(dig(names, "www.example.com A").1.len(), 2);
}

/// Answers with the host that it was asked for, at a port of its own.
fn origin_that_tells_hosts() -> Origin {
    Origin::on(TcpListener::bind("127.0.0.2:0").unwrap(), |request, stream| {
        let host = request.header("host").unwrap_or("").to_owned();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{host}", host.len());
        stream.write_all(head.as_bytes()).is_ok()
    })
}

#[test]
fn a_proxied_record_is_served_with_the_next_request() {
    let origin = origin_that_tells_hosts();
    let port = origin.address.port();
    let (edge, api, names, records) = name_server(&format!("private_origins = true\nhttp_port = {port}\n"));
    let ask = |host: &str| {
        let answer = Client::get(edge.proxy[0], host, "/");
        (answer.status, answer.text())
    };
    assert_eq!(ask("www.example.com").0, 502, "the zone has neither origins nor records");
    let record = |kind: &str, name: &str, content: &str| json!({"type": kind, "name": name, "content": content, "proxied": true});
    let made = api.post(&records, &record("A", "www", "127.0.0.2"));
    assert_eq!(ask("www.example.com"), (200, "www.example.com".to_owned()));
    assert_eq!(dig(names, "www.example.com A"), found(&["www.example.com. 300 IN A 192.0.2.53"]));
    assert_eq!(dig(names, "www.example.com AAAA"), found(&["www.example.com. 300 IN AAAA 2001:db8::53"]));
    api.post(&records, &record("CNAME", "*.shop", "www.example.com"));
    assert_eq!(ask("a.shop.example.com"), (200, "a.shop.example.com".to_owned()));
    assert_eq!(dig(names, "a.shop.example.com A"), found(&["a.shop.example.com. 300 IN A 192.0.2.53"]));
    api.post(&records, &record("CNAME", "gone", "nothing.example.com"));
    api.post(&records, &record("CNAME", "away", "does-not-exist.invalid"));
    for host in ["gone.example.com", "away.example.com"] {
        let (status, text) = ask(host);
        assert!(status == 530 && text.contains("1016"), "{host}: {status} {text}");
    }
    let other = api.post("/accounts", &json!({"name": "other"}));
    api.post("/zones", &json!({"name": "other.example", "account": {"id": other["id"]}}));
    api.post(&records, &record("CNAME", "cross", "www.other.example"));
    assert_eq!((ask("cross.example.com").0, ask("cross.example.com").1.contains("1014")), (409, true));
    api.post(&records, &json!({"type": "A", "name": "edge", "content": "192.0.2.53"}));
    api.post(&records, &record("CNAME", "loop", "edge.example.com"));
    assert_eq!((ask("loop.example.com").0, ask("loop.example.com").1.contains("1000")), (403, true));
    api.post(&records, &json!({"type": "A", "name": "plain", "content": "127.0.0.2"}));
    assert_eq!(ask("plain.example.com").0, 409, "what is not proxied is not served");
    api.result("DELETE", &format!("{records}/{}", made["id"].as_str().unwrap()), &Value::Null);
    let (status, text) = ask("www.example.com");
    assert!(status == 409 && text.contains("1001"), "{status} {text}");
    assert_eq!(dig(names, "www.example.com A").0, "NXDOMAIN");
}

/// What is written as proxied may be public; where a name leads is looked at again with each request.
#[test]
fn records_lead_to_no_private_network_unless_that_is_allowed() {
    let origin = origin_that_tells_hosts();
    let (edge, api, _, records) = name_server(&format!("http_port = {}\n", origin.address.port()));
    let proxied = |name: &str, content: &str| json!({"type": "CNAME", "name": name, "content": content, "proxied": true});
    api.post(&records, &json!({"type": "A", "name": "inner", "content": "127.0.0.2"}));
    api.post(&records, &proxied("one", "inner.example.com"));
    api.post(&records, &proxied("two", "localhost"));
    for host in ["one.example.com", "two.example.com"] {
        let answer = Client::get(edge.proxy[0], host, "/");
        assert!(
            answer.status == 403 && answer.text().contains("1000"),
            "{host}: {} {}",
            answer.status,
            answer.text()
        );
    }
    assert!(origin.requests().is_empty());
}

#[test]
fn proxied_names_say_that_the_edge_speaks_http2() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "edge", &["www.example.com"]);
    certificate(folder.path(), "origin", &["www.example.com"]);
    let conf = format!(
        "{}[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n[dns]\n{SETTINGS}private_origins = true\n",
        tls_listener(&["edge"])
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let (api, names) = (Api::new(&edge, TOKEN), names(&edge));
    let zone = api.post("/zones", &json!({"name": "example.com"}));
    let records = format!("/zones/{}/dns_records", zone["id"].as_str().unwrap());
    let record = json!({"type": "A", "name": "www", "content": "127.0.0.2", "proxied": true});
    api.post(&records, &record);
    assert_eq!(
        dig(names, "www.example.com HTTPS"),
        found(&["www.example.com. 300 IN HTTPS 1 . alpn=\"h2\""])
    );
    api.post(
        &records,
        &json!({"type": "HTTPS", "name": "www", "data": {"priority": 1, "target": ".", "value": "port=444"}}),
    );
    assert_eq!(dig(names, "www.example.com HTTPS"), found(&["www.example.com. 300 IN HTTPS 1 . port=444"]));
}

#[test]
fn proxied_names_are_asked_for_over_tls_if_they_came_so() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "edge", &["www.example.com"]);
    let origin = TcpListener::bind("127.0.0.2:0").unwrap();
    let origin_port = origin.local_addr().unwrap().port();
    let first_byte = std::thread::spawn(move || {
        let mut byte = [0];
        origin.accept().unwrap().0.read_exact(&mut byte).unwrap();
        byte[0]
    });
    let conf = format!(
        "{}[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n[dns]\n{SETTINGS}private_origins = true\nhttps_port = {}\n",
        tls_listener(&["edge"]),
        origin_port
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let api = Api::new(&edge, TOKEN);
    let zone = api.post("/zones", &json!({"name": "example.com"}));
    let records = format!("/zones/{}/dns_records", zone["id"].as_str().unwrap());
    api.post(&records, &json!({"type": "A", "name": "www", "content": "127.0.0.2", "proxied": true}));
    let port = edge.proxy[0].port();
    let (resolve, url) =
        (format!("www.example.com:{port}:127.0.0.1"), format!("https://www.example.com:{port}/"));
    assert_eq!(curl(&["-k", "--http2", "--resolve", &resolve, &url]).0, 502, "the origin does not speak TLS");
    assert_eq!(first_byte.join().unwrap(), 0x16, "a handshake begins");
    let plain = origin_that_tells_hosts();
    edge.rewrite(&format!("{conf}origin_scheme = \"http\"\nhttp_port = {}\n", plain.address.port()));
    wait_for("the origin to be asked without TLS", || {
        (curl(&["-k", "--http2", "--resolve", &resolve, &url]).0 == 200).then_some(())
    });
}

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

/// How long an answer is waited for, and one that is not to come.
const PATIENCE: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_millis(500);

/// Sends a packet over UDP; the answer, if one comes in time.
pub(crate) fn ask_udp(server: SocketAddr, packet: &[u8], patience: Duration) -> Option<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(patience)).unwrap();
    socket.send(packet).unwrap();
    let mut buffer = vec![0; 65_535];
    let length = socket.recv(&mut buffer).ok()?;
    buffer.truncate(length);
    Some(buffer)
}

/// A query for an A record.
pub(crate) fn query(name: &str) -> Vec<u8> {
    let mut packet = vec![1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        packet.push(u8::try_from(label.len()).unwrap());
        packet.extend(label.bytes());
    }
    packet.extend([0, 0, 1, 0, 1]);
    packet
}

#[test]
fn hostile_packets_are_refused_or_passed_over_and_others_are_answered_meanwhile() {
    let (edge, api, names, records) = name_server("");
    api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.1"}));
    let sound = query("www.example.com");
    let answer = ask_udp(names, &sound, PATIENCE).unwrap();
    assert_eq!((answer[3] & 15, answer.len()), (0, sound.len() + 16));
    assert_eq!(ask_udp(names, &sound[..11], SILENCE), None, "what is no header");
    assert_eq!(ask_udp(names, &answer, SILENCE), None, "a response");
    for length in 12..sound.len() {
        assert_eq!(ask_udp(names, &sound[..length], PATIENCE).unwrap()[3] & 15, 1, "{length} bytes");
    }
    let mut pointer = sound.clone();
    pointer[12] = 0xC0;
    assert_eq!(ask_udp(names, &pointer, PATIENCE).unwrap()[3] & 15, 1);
    let mut update = sound.clone();
    update[2] = 0x28;
    assert_eq!(ask_udp(names, &update, PATIENCE).unwrap()[3] & 15, 4);
    assert_eq!(ask_udp(names, &[sound.clone(), vec![0; 1_400]].concat(), PATIENCE).unwrap()[3] & 15, 1);
    // Over TCP: several queries at once, byte by byte, a length that nothing follows.
    let framed = |packet: &[u8]| [&u16::try_from(packet.len()).unwrap().to_be_bytes(), packet].concat();
    let mut stream = TcpStream::connect(names).unwrap();
    stream.write_all(&[framed(&sound), framed(&sound)].concat()).unwrap();
    for byte in framed(&sound) {
        stream.write_all(&[byte]).unwrap();
    }
    for _ in 0..3 {
        let mut reply = vec![0; answer.len() + 2];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply[2..], answer[..]);
    }
    stream.write_all(&[0xFF, 0xFF, 1]).unwrap();
    assert_eq!(ask_udp(names, &sound, PATIENCE).unwrap(), answer);
    edge.wait_for_metric("portcullis_dns_answers_total{code=\"NOERROR\",protocol=\"tcp\",type=\"A\"}", 3.0);
    assert!(
        edge.metric("portcullis_dns_answers_total{code=\"FORMERR\",protocol=\"udp\",type=\"other\"}") > 10.0
    );
}

#[test]
fn networks_get_as_many_answers_as_is_set() {
    let (edge, api, names, records) = name_server("rate_limit = 20\nrate_limit_exempt = []\n");
    api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.1"}));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(names).unwrap();
    let sound = query("www.example.com");
    for _ in 0..2_000 {
        socket.send(&sound).unwrap();
    }
    wait_for("answers past the limit to be truncated", || {
        let mut buffer = [0; 512];
        let length = socket.recv(&mut buffer).unwrap();
        assert!(length <= sound.len() + 16);
        (buffer[2] & 2 > 0).then(|| assert_eq!(length, sound.len(), "no more than was sent"))
    });
    assert_eq!(dig(names, "www.example.com A +tcp").0, "NOERROR", "there is no limit over TCP");
    drop(edge);
}

/// Changes of the zone under queries: none is lost, none sees half of a change.
#[test]
fn queries_are_answered_while_records_change() {
    let (_edge, api, names, records) = name_server("");
    let pair = |nth: usize| {
        json!({"posts": [
        {"type": "A", "name": "pair", "content": format!("192.0.2.{nth}")}, {"type": "A", "name": "pair", "content": format!("198.51.100.{nth}")}]})
    };
    let mut made = api.post(&format!("{records}/batch"), &pair(1));
    let is_done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let asking: Vec<_> = (0..2)
        .map(|_| {
            let is_done = std::sync::Arc::clone(&is_done);
            std::thread::spawn(move || {
                let (packet, mut asked) = (query("pair.example.com"), 0);
                while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                    let answer = ask_udp(names, &packet, PATIENCE).expect("an answer");
                    let last = |at: usize| answer[at];
                    assert_eq!(answer[7], 2, "both or none of a change");
                    assert_eq!(last(answer.len() - 1), last(answer.len() - 17));
                    asked += 1;
                }
                asked
            })
        })
        .collect();
    for nth in 2..40 {
        let deletes: Vec<Value> =
            made["posts"].as_array().unwrap().iter().map(|record| json!({"id": record["id"]})).collect();
        let mut change = pair(nth);
        change["deletes"] = json!(deletes);
        made = api.post(&format!("{records}/batch"), &change);
    }
    is_done.store(true, std::sync::atomic::Ordering::Relaxed);
    let asked: usize = asking.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(asked > 50, "{asked} queries were answered");
}

#[test]
fn an_edge_without_listeners_for_queries_answers_none_and_a_taken_address_is_an_error() {
    let (edge, _, names, _) = name_server("");
    drop(edge);
    wait_for("the address to be free", || UdpSocket::bind(names).ok().map(drop));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let conf = format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[dns]\nlisteners = [\"{}\"]\n[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:1\"]\n",
        taken.local_addr().unwrap()
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.toml");
    std::fs::write(
        &path,
        format!("state_dir = \"{}\"\n{conf}[admin]\naddress = \"127.0.0.1:0\"\n", folder.path().display()),
    )
    .unwrap();
    let output = Command::new(crate::support::BINARY).args(["run", "--conf"]).arg(&path).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && error.contains("`dns.listeners`"), "{error}");
}

/// The zone's own name leads elsewhere: resolvers get the addresses that are there.
#[test]
fn names_elsewhere_are_flattened_by_asking_resolvers() {
    let (elsewhere, other, resolver, others) = name_server("");
    for content in ["192.0.2.80", "192.0.2.81"] {
        other.post(&others, &json!({"type": "A", "name": "host", "content": content, "ttl": 120}));
    }
    other.post(&others, &json!({"type": "AAAA", "name": "host", "content": "2001:db8::80", "ttl": 120}));
    other
        .post(&others, &json!({"type": "CNAME", "name": "alias", "content": "host.example.com", "ttl": 120}));
    let (_edge, api, names, _) = name_server(&format!("resolvers = [\"{resolver}\"]\n"));
    let zone = api.post("/zones", &json!({"name": "shop.example"}));
    let records = format!("/zones/{}/dns_records", zone["id"].as_str().unwrap());
    api.post(&records, &json!({"type": "CNAME", "name": "@", "content": "alias.example.com"}));
    api.post(&records, &json!({"type": "MX", "name": "@", "content": "mail.example", "priority": 1}));
    api.post(&records, &json!({"type": "CNAME", "name": "www", "content": "host.example.com", "settings": {"flatten_cname": true}}));
    api.post(&records, &json!({"type": "CNAME", "name": "plain", "content": "host.example.com"}));
    let addresses = |question: &str| {
        let mut found = dig(names, question).1;
        found.sort_unstable();
        found
    };
    wait_for("the addresses to be known", || {
        let found = addresses("shop.example A");
        let ends = |at: usize, end: &str| found.get(at).is_some_and(|line| line.ends_with(end));
        (found.len() == 2 && ends(0, "IN A 192.0.2.80") && ends(1, "IN A 192.0.2.81")).then_some(())
    });
    assert!(addresses("shop.example AAAA")[0].ends_with("IN AAAA 2001:db8::80"));
    wait_for("those of the other name too", || (addresses("www.shop.example A").len() == 2).then_some(()));
    assert_eq!(addresses("shop.example MX"), ["shop.example. 300 IN MX 1 mail.example."]);
    assert!(addresses("plain.shop.example A")[0].contains("IN CNAME host.example.com."));
    drop(elsewhere);
    api.post(&records, &json!({"type": "TXT", "name": "new", "content": "x"}));
    assert_eq!(addresses("shop.example A").len(), 2, "what is known is kept though nobody can be asked");
}

#[test]
fn zone_files_are_checked_and_answers_explained_on_the_command_line() {
    let (edge, api, _, records) = name_server("");
    let file = edge.folder.path().join("shop.example.zone");
    let checked = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run_cli(&["dns", "check", file.to_str().unwrap()], b"")
    };
    let sound = checked("@ SOA ns1 a 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.1\n");
    assert_eq!(String::from_utf8_lossy(&sound.stdout), "shop.example: 3 records\n", "{sound:?}");
    let wrong = checked("@ SOA ns1 a 1 2 3 4 5\na CNAME b\na A 192.0.2.1\n");
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        wrong.status.code() == Some(1) && said.contains("zone:3: error: `a.shop.example` has a CNAME record"),
        "{said}"
    );
    let malformed = checked("a A 1\nb IN\n");
    let said = String::from_utf8_lossy(&malformed.stderr).into_owned();
    assert!(said.contains("zone:1: expected an IPv4 address") && said.contains("2 mistakes found"), "{said}");
    for record in [
        json!({"type": "CNAME", "name": "www", "content": "web.example.com"}),
        json!({"type": "A", "name": "web", "content": "198.51.100.1", "proxied": true}),
        json!({"type": "TXT", "name": "*.wild", "content": "w"}),
        json!({"type": "NS", "name": "sub", "content": "ns.example.net"}),
        json!({"type": "CNAME", "name": "@", "content": "web.example.com"}),
    ] {
        api.post(&records, &record);
    }
    let conf = edge.folder.path().join("p.toml");
    let explained = |name: &str, kind: &str| {
        let output = run_cli(&["dns", "explain", name, kind, "--conf", conf.to_str().unwrap()], b"");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (name, kind, parts) in [
        (
            "www.example.com",
            "A",
            &[
                "in the zone example.com",
                "www.example.com: an alias of web.example.com",
                "web.example.com: has A records",
                "proxied",
            ][..],
        ),
        (
            "x.wild.example.com",
            "TXT",
            &["has TXT records, by a wildcard", "*.wild.example.com 300 TXT \"w\""],
        ),
        ("x.wild.example.com", "A", &["exists, without A records, by a wildcard"]),
        ("a.sub.example.com", "A", &["delegated with sub.example.com"]),
        ("none.example.com", "A", &["does not exist"]),
        ("example.com", "A", &["flattened"]),
        ("elsewhere.example", "A", &["no zone here has it"]),
    ] {
        let text = explained(name, kind);
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {kind}: {text}");
    }
}
