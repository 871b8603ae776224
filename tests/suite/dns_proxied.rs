//! Proxied records: resolvers get the edge's addresses, and the edge asks the origins that the records name.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::api::TOKEN;
use crate::dns_server::{SETTINGS, dig, found, name_server, names};
use crate::listener::tls_listener;
use crate::support::{Api, Client, Edge, Origin, certificate, curl, wait_for};

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
    // Clients come to port 443: what is spoken at another port is not said.
    for (settings, said) in [
        ("", "1 . alpn=\"h2\""),
        ("http3 = true\n", "1 . alpn=\"h2\""),
        ("http3 = true\nhttp3_port = 443\n", "1 . alpn=\"h3,h2\""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        certificate(folder.path(), "edge", &["www.example.com"]);
        let listener = tls_listener(&["edge"]).replace(":0\"\n", &format!(":0\"\n{settings}"));
        let conf = format!(
            "{listener}[admin]\naddress = \"127.0.0.1:0\"\napi_tokens = [\"{TOKEN}\"]\n[dns]\n{SETTINGS}private_origins = true\n"
        );
        let edge = Edge::start_in(folder, &conf, &[]);
        let (api, names) = (Api::new(&edge, TOKEN), names(&edge));
        let zone = api.post("/zones", &json!({"name": "example.com"}));
        let records = format!("/zones/{}/dns_records", zone["id"].as_str().unwrap());
        let record = json!({"type": "A", "name": "www", "content": "127.0.0.2", "proxied": true});
        api.post(&records, &record);
        let generated = format!("www.example.com. 300 IN HTTPS {said}");
        assert_eq!(dig(names, "www.example.com HTTPS"), found(&[&generated]), "{settings}");
        let own = json!({"type": "HTTPS", "name": "www", "data": {"priority": 1, "target": ".", "value": "port=444"}});
        api.post(&records, &own);
        let own = "www.example.com. 300 IN HTTPS 1 . port=444";
        assert_eq!(dig(names, "www.example.com HTTPS"), found(&[own]), "{settings}");
    }
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
fn a_browser_stays_with_one_address_of_a_record_where_its_zone_says_so() {
    let named = |address: String, name: &'static str| {
        Origin::on(TcpListener::bind(address).unwrap(), move |_, stream| {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{name}", name.len());
            stream.write_all(head.as_bytes()).is_ok()
        })
    };
    let first = named("127.0.0.2:0".to_owned(), "two");
    let port = first.address.port();
    let _second = named(format!("127.0.0.3:{port}"), "three");
    let (edge, api, _, records) = name_server(&format!("private_origins = true\nhttp_port = {port}\n"));
    for content in ["127.0.0.2", "127.0.0.3"] {
        api.post(&records, &json!({"type": "A", "name": "www", "content": content, "proxied": true}));
    }
    let owner = records.strip_suffix("/dns_records").unwrap();
    api.result("PATCH", owner, &json!({"balance": "cookie"}));
    let mut all = String::new();
    for _ in 0..20 {
        let first = Client::get(edge.proxy[0], "www.example.com", "/");
        let cookie = first.header("set-cookie").unwrap().split_once(';').unwrap().0.to_owned();
        for _ in 0..3 {
            let head = format!(
                "GET / HTTP/1.1\r\nHost: www.example.com\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
            );
            assert_eq!(Client::once(edge.proxy[0], head).text(), first.text());
        }
        all.push_str(&first.text());
    }
    assert!(all.contains("two") && all.contains("three"), "{all}");
}
