//! The name server, asked by `dig`: what is written over the API is what resolvers get with the next query.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::support::{Api, Edge, wait_for};

pub(crate) const SETTINGS: &str = "listeners = [\"127.0.0.1:0\"]\naddresses = [\"192.0.2.53\", \"2001:db8::53\"]\n\
    name_servers = [\"ns1.edge.example\", \"NS2.edge.example.\"]\n";

/// An edge that answers queries, with a zone; where queries go and the path of the zone's records.
pub(crate) fn name_server(settings: &str) -> (Edge, Api, SocketAddr, String) {
    // Nobody outside this machine is asked.
    let resolvers = if settings.contains("resolvers") { "" } else { "resolvers = [\"127.0.0.1:9\"]\n" };
    let edge = Edge::start(&format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n\
         [dns]\n{SETTINGS}{resolvers}{settings}\n"
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
    read_dig(&dig_text(server, question))
}

/// What `dig` prints.
pub(crate) fn dig_text(server: SocketAddr, question: &str) -> String {
    let arguments = ["+time=5", "+tries=1", "+noall", "+comments", "+answer", "+authority", "+additional"];
    let output = Command::new("dig")
        .arg(format!("@{}", server.ip()))
        .args(["-p", &server.port().to_string()])
        .args(arguments)
        .args(question.split(' '))
        .output()
        .expect("Debian's package bind9-dnsutils has dig");
    String::from_utf8(output.stdout).unwrap()
}

/// The status and the records of what `dig` prints.
pub(crate) fn read_dig(text: &str) -> (String, Vec<String>) {
    let status = text.split("status: ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or(text);
    let records = text.lines().filter(|line| !line.starts_with(';') && !line.is_empty());
    let records = records.map(|line| line.split_ascii_whitespace().collect::<Vec<_>>().join(" ")).collect();
    (status.to_owned(), records)
}

pub(crate) fn found(records: &[&str]) -> (String, Vec<String>) {
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
fn answers_are_counted_by_zone_and_some_queries_logged() {
    let (mut edge, api, names, records) = name_server("query_log = 2\n");
    api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.1"}));
    for question in ["www.example.com A", "no.example.com A", "WWW.example.com A +tcp", "elsewhere.example A"]
    {
        dig(names, question);
    }
    (0..20).for_each(|_| drop(dig(names, "www.example.com TXT")));
    let of_www = |event: &Value| event["event"] == "dns_query" && event["query_type"] == "TXT";
    let logged = edge.wait_for_event("dns_query", |event| of_www(event));
    let said = ["name", "code", "protocol", "ClientIP", "zone"].map(|field| logged[field].as_str().unwrap());
    assert_eq!(said, ["www.example.com", "NOERROR", "udp", "127.0.0.1", "example.com"]);
    let logged = edge.events().iter().filter(|event| of_www(event)).count();
    // One in two, as each thread counts.
    assert!((1..=11).contains(&logged), "{logged} of 20");
    let metrics = edge.metrics();
    for line in [
        "zone_answers_total{code=\"NOERROR\",zone=\"example.com\"} 22",
        "zone_answers_total{code=\"NXDOMAIN\",zone=\"example.com\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert!(!metrics.contains("zone=\"elsewhere.example\""));
    // The series of a zone end with it.
    api.result("DELETE", records.trim_end_matches("/dns_records"), &Value::Null);
    assert!(!edge.metrics().contains("zone=\"example.com\""));
    api.post("/zones", &json!({"name": "example.com"}));
    dig(names, "example.com SOA");
    assert!(edge.metrics().contains("zone_answers_total{code=\"NOERROR\",zone=\"example.com\"} 1"));
}

#[test]
fn zones_past_the_first_500_are_counted_together() {
    let (edge, api, names, _) = name_server("");
    let zones = 520;
    for nth in 0..zones {
        api.post("/zones", &json!({"name": format!("z{nth}.example")}));
    }
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(names).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    for nth in (0..zones).chain(0..zones) {
        let name = format!("z{nth}");
        let mut query = vec![0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, u8::try_from(name.len()).unwrap()];
        query.extend(name.bytes());
        query.extend(b"\x07example\0\0\x06\0\x01");
        socket.send(&query).unwrap();
        let mut answer = [0; 512];
        assert!(socket.recv(&mut answer).unwrap() > query.len(), "{name}");
    }
    let metrics = edge.metrics();
    let lines = metrics.lines().filter(|line| line.starts_with("portcullis_dns_zone_answers_total{"));
    let counted: Vec<(bool, u32)> = lines
        .map(|line| (line.contains("zone=\"other\""), line.rsplit(' ').next().unwrap().parse().unwrap()))
        .collect();
    assert_eq!(counted.len(), 501);
    assert_eq!(counted.iter().map(|(_, count)| count).sum::<u32>(), 2 * zones);
    assert_eq!(counted.iter().filter(|(is_other, _)| *is_other).map(|(_, count)| count).sum::<u32>(), 40);
}
