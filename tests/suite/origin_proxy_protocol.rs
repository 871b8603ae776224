//! `origin_proxy_protocol`: the connection to an origin begins with who the client is, and serves nobody else.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use crate::support::{Client, Edge, Origin, certificate, free_port, wait_for};

/// Of each connection the line that it began with, and its requests.
type Connections = Arc<Mutex<Vec<(String, usize)>>>;

/// An origin that reads a line of version 1 first, and what it read.
fn line_origin() -> (SocketAddr, Connections) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
    let known = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let known = Arc::clone(&known);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let nth = {
                    let mut known = known.lock().unwrap();
                    known.push((line, 0));
                    known.len() - 1
                };
                let mut text = String::new();
                while reader.read_line(&mut text).is_ok_and(|read| read > 0) {
                    if text.ends_with("\r\n\r\n") {
                        known.lock().unwrap()[nth].1 += 1;
                        (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
                        text.clear();
                    }
                }
            });
        }
    });
    (address, seen)
}

fn conf(origin: &str, more: &str) -> String {
    format!(
        "trusted_proxies = [\"127.0.0.2/32\"]\n[[listeners]]\naddress = \"127.0.0.1:0\"\n\
         [[zones]]\nname = \"a.example\"\norigins = [\"{origin}\"]\n{more}\n[zones.waf]\n"
    )
}

const PEERS: &str = "proxy_protocol_from = [\"127.0.0.0/8\"]\n";
const GET: &str = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";

#[test]
fn origins_are_told_the_client_of_each_connection() {
    let (origin, seen) = line_origin();
    let edge = Edge::start(&conf(&format!("http://{origin}"), "origin_proxy_protocol = \"v1\""));
    let proxy = edge.proxy[0];
    let (mut one, mut two) = (Client::connect(proxy), Client::connect(proxy));
    for _ in 0..3 {
        for client in [&mut one, &mut two] {
            assert_eq!(client.send(GET).receive().unwrap().status, 200);
        }
    }
    let line = |client: &Client| {
        let from = client.local_address();
        format!("PROXY TCP4 {} {} {} {}\r\n", from.ip(), proxy.ip(), from.port(), proxy.port())
    };
    let mut expected = vec![(line(&one), 3), (line(&two), 3)];
    expected.sort();
    let mut known = seen.lock().unwrap().clone();
    known.sort();
    assert_eq!(known, expected, "each client has a connection of its own, and keeps it");
    // A field that is not believed names nobody.
    let spoofed = GET.replace("\r\n\r\n", "\r\nX-Forwarded-For: 192.0.2.7\r\nConnection: close\r\n\r\n");
    assert_eq!(Client::once(proxy, spoofed).status, 200);
    assert!(seen.lock().unwrap().last().unwrap().0.starts_with("PROXY TCP4 127.0.0.1 "));
}

#[test]
fn another_edge_learns_the_client_over_every_protocol() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "o", &["localhost"]);
    // Two listeners of one address are told apart by it.
    let plain = free_port();
    let inner = Edge::start_in(
        folder,
        &format!(
            "[[listeners]]\naddress = \"127.0.0.1:0\"\n{PEERS}certificates = [{{ chain = \"o.pem\", key = \"o.key\" }}]\n\
             [[listeners]]\naddress = \"127.0.0.1:{plain}\"\n{PEERS}\
             [[zones]]\nname = \"a.example\"\norigins = [\"{0}\"]\n[zones.waf]\n\
             [[zones]]\nname = \"localhost\"\norigins = [\"{0}\"]\n[zones.waf]\n",
            origin.url()
        ),
        &[],
    );
    let ca = inner.folder.path().join("o.pem").display().to_string();
    let tls = format!("https://localhost:{}", inner.proxy[0].port());
    let plain = format!("http://localhost:{plain}");
    for version in ["v1", "v2"] {
        for (url, more) in [(&plain, ""), (&tls, ""), (&tls, "origin_protocol = \"http2\"\n")] {
            let check = "health_check = { path = \"/health\", interval = \"100ms\" }\n";
            let more = format!("{more}{check}origin_proxy_protocol = \"{version}\"\norigin_ca = {ca:?}\n");
            let outer = Edge::start(&conf(url, &more).replace("127.0.0.2/32", "127.0.0.0/8"));
            origin.forget();
            for client in ["192.0.2.7", "2001:db8::7", "192.0.2.8"] {
                let request = format!(
                    "POST /x HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: {client}\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
                );
                let answer = Client::once(outer.proxy[0], request);
                assert_eq!((answer.status, answer.text()), (200, "abc".to_owned()), "{version} {more}");
                let seen = origin.requests().into_iter().rfind(|request| request.path() == "/x").unwrap();
                assert_eq!(seen.header("svc-connecting-ip"), Some(client), "{version} {more}");
            }
            wait_for("a health check", || {
                origin.requests().iter().any(|request| request.path() == "/health").then_some(())
            });
            assert_eq!(
                outer.metric(&format!("portcullis_origin_up{{origin=\"{url}\",zone=\"a.example\"}}")),
                1.0
            );
        }
    }
}
