//! Block lists in the DNS: rules with `@rbl`, for a client that is named by another edge's zone.

use std::net::{SocketAddr, UdpSocket};

use serde_json::json;

use crate::dns_server::name_server;
use crate::support::{Client, Edge, Origin};

const RULES: &str = "SecRuleEngine On\n\
     SecRule REMOTE_ADDR \"@rbl List.example.com.\" \"id:7,phase:1,deny,status:403\"\n\
     SecRule ARGS:a \"@rbl list.example.com\" \"id:8,phase:1,deny,status:406\"\n\
     SecRule ARGS:only-listed \"@streq 1\" \"id:9,phase:2,deny,status:409,chain\"\nSecRule REMOTE_ADDR \"!@rbl friends.example.com\"\n";

fn edge(origin: &Origin, resolver: SocketAddr) -> Edge {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own.conf"), RULES).unwrap();
    let conf = format!(
        "trusted_proxies = [\"127.0.0.0/8\"]\n[rules]\nowasp = [\"own.conf\"]\n[dns]\nresolvers = [\"{resolver}\"]\n\
         [[zones]]\nname = \"app.example\"\norigins = [\"{}\"]\n[zones.waf]\n",
        origin.url()
    );
    Edge::start_in(folder, &conf, &[])
}

fn status(edge: &Edge, client: &str, target: &str) -> u16 {
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: app.example\r\nX-Forwarded-For: {client}\r\nConnection: close\r\n\r\n"
    );
    Client::once(edge.proxy[0], request).status
}

fn looked_up(edge: &Edge, outcome: &str) -> f64 {
    edge.metric(&format!("portcullis_block_list_lookups_total{{outcome=\"{outcome}\"}}"))
}

#[test]
fn clients_that_a_list_names_are_refused() {
    let origin = Origin::fixed("text/plain", "ok");
    let (_names, api, resolver, records) = name_server("strict_names = false\n");
    for (name, content) in [
        ("7.100.51.198.list", "127.0.0.2"),
        ("8.100.51.198.list", "127.255.255.254"),
        ("1.0.0.127.list", "127.0.0.2"),
        ("6.100.51.198.friends", "127.0.0.3"),
        ("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.3.0.0.0.2.0.0.0.8.b.d.0.1.0.0.2.list", "127.0.0.2"),
    ] {
        api.post(&records, &json!({"type": "A", "name": name, "content": content}));
    }
    let edge = edge(&origin, resolver);
    for (client, target, expected) in [
        ("198.51.100.7", "/", 403),
        ("198.51.100.7", "/", 403),
        ("::ffff:198.51.100.7", "/", 403),
        ("198.51.100.6", "/", 200),
        // A list that does not answer who asks names nobody.
        ("198.51.100.8", "/", 200),
        ("2001:db8:2:3::1", "/", 403),
        ("2001:db8:2:4::1", "/", 200),
        // Of this machine, though the list says so; nobody is asked.
        ("127.0.0.1", "/", 200),
        // What a request says is no client.
        ("198.51.100.6", "/?a=198.51.100.7", 200),
        ("198.51.100.6", "/?only-listed=1", 200),
        ("198.51.100.5", "/?only-listed=1", 409),
    ] {
        assert_eq!(status(&edge, client, target), expected, "{client} {target}");
    }
    // 198.51.100.7 and an address of 2001:db8:2:3::/64 on one list, 198.51.100.6 on the other: each was asked for once.
    assert_eq!(looked_up(&edge, "listed"), 3.0);
    assert_eq!((looked_up(&edge, "failed"), looked_up(&edge, "clean")), (1.0, 8.0));
}

#[test]
fn requests_do_not_wait_long_for_lists_that_do_not_answer() {
    let origin = Origin::fixed("text/plain", "ok");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let edge = edge(&origin, silent.local_addr().unwrap());
    assert_eq!(status(&edge, "198.51.100.7", "/"), 200);
    assert_eq!(looked_up(&edge, "failed"), 0.0, "the look-ups go on after the answer");
    edge.wait_for_metric("portcullis_block_list_lookups_total{outcome=\"failed\"}", 2.0);
    assert_eq!(origin.requests().len(), 1);
}
