//! Queries over TLS (RFC 7858) and HTTPS (RFC 8484): answered as those over TCP are.

use std::net::SocketAddr;
use std::process::Stdio;

use serde_json::json;

use crate::api::TOKEN;
use crate::dns_server::{SETTINGS, dig, found};
use crate::listener::tls_listener;
use crate::support::{Api, Edge, certificate, curl, curl_output, run_cli, wait_for};

/// An edge whose listeners are one for requests, one for requests over TLS, one for queries over TLS, with a zone that has
/// an address for `www`.
fn encrypted(settings: &str) -> Edge {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "edge", &["dns.example.net"]);
    let of_dns = tls_listener(&["edge"]).replace(
        "address = \"127.0.0.1:0\"",
        "address = \"127.0.0.2:0\"\nprotocol = \"dns\"\nproxy_protocol_from = [\"127.0.0.3/32\"]",
    );
    let edge = Edge::start_in(
        folder,
        &format!(
            "[[listeners]]\naddress = \"127.0.0.1:0\"\n{}{of_dns}[admin]\naddress = \"127.0.0.1:0\"\n\
             api_tokens = [\"{TOKEN}\"]\n[dns]\n{}{settings}\n",
            tls_listener(&["edge"]),
            SETTINGS.replacen("listeners = [\"127.0.0.1:0\"]\n", "", 1)
        ),
        &[],
    );
    let api = Api::new(&edge, TOKEN);
    let zone = api.post("/zones", &json!({"name": "example.com"}));
    let records = format!("/zones/{}/dns_records", zone["id"].as_str().unwrap());
    api.post(&records, &json!({"type": "A", "name": "www", "content": "192.0.2.1", "ttl": 120}));
    api.post(&records, &json!({"type": "TXT", "name": "long", "content": "x".repeat(3_000), "ttl": 120}));
    edge
}

/// A query as a stub resolver sends it, without EDNS.
fn query(name: &str, record_type: u8) -> Vec<u8> {
    let mut query = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(u8::try_from(label.len()).unwrap());
        query.extend(label.bytes());
    }
    query.extend([0, 0, record_type, 0, 1]);
    query
}

fn base64url(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

const ANSWER: &[&str] = &["www.example.com. 120 IN A 192.0.2.1"];

#[test]
fn queries_over_tls_are_answered_and_other_protocols_are_not() {
    let mut edge = encrypted("");
    let server = edge.proxy[2];
    assert_eq!(dig(server, "www.example.com A +tls"), found(ANSWER));
    assert_eq!(dig(server, "www.example.com A +tls +padding=128"), found(ANSWER));
    assert_eq!(dig(server, "long.example.com TXT +tls").1.len(), 1);
    assert_eq!(dig(server, "none.example.com A +tls").0, "NXDOMAIN");
    assert_eq!(dig(server, "elsewhere.example A +tls").0, "REFUSED");
    // In the clear, and as a request: neither is understood.
    assert!(dig(server, "www.example.com A +tcp").1.is_empty());
    let (status, _) = curl(&["--http1.1", &format!("https://{server}/dns-query")]);
    assert_eq!(status, 0);
    let by_alpn = openssl(server, &["-alpn", "dot"]);
    assert!(by_alpn.contains("ALPN protocol: dot"), "{by_alpn}");
    assert!(!openssl(server, &["-alpn", "h2"]).contains("ALPN protocol"));
    let metrics = edge.metrics();
    for line in
        ["code=\"NOERROR\",protocol=\"tls\",type=\"A\"} 2", "code=\"REFUSED\",protocol=\"tls\",type=\"A\"} 1"]
    {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    // A connection that is idle holds nobody up.
    let mut idle = std::process::Command::new("openssl")
        .args(["s_client", "-quiet", "-connect", &server.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the connection", || edge.metrics().contains("portcullis_connections 1").then_some(()));
    edge.signal("TERM");
    edge.wait_for_exit();
    wait_for("the client's end", || idle.try_wait().unwrap());
}

/// What `openssl s_client` says of a connection.
fn openssl(server: SocketAddr, arguments: &[&str]) -> String {
    let output = std::process::Command::new("openssl")
        .args(["s_client", "-connect", &server.to_string()])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn queries_over_https_are_answered_at_their_hosts_only() {
    let mut edge = encrypted("https_hosts = [\"127.0.0.1\", \"DNS.example.net\"]\n");
    let (plain, tls) = (edge.proxy[0], edge.proxy[1]);
    for options in ["+https", "+https-get", "+https +padding=128"] {
        assert_eq!(dig(tls, &format!("www.example.com A {options}")), found(ANSWER), "{options}");
    }
    let file = edge.folder.path().join("query");
    std::fs::write(&file, query("www.example.com", 1)).unwrap();
    let body = format!("@{}", file.display());
    let encoded = base64url(&query("www.example.com", 1));
    let media = "content-type: application/dns-message";
    let host = "host: dns.example.net";
    let mut ran = 0;
    for version in ["--http1.1", "--http2"] {
        for base in [format!("http://{plain}"), format!("https://{tls}")] {
            let url = format!("{base}/dns-query");
            let by_get = format!("{url}?x=1&dns={encoded}&y");
            for arguments in [
                vec![by_get.as_str()],
                vec!["-H", media, "--data-binary", &body, &url],
                vec!["-H", "content-type: Application/DNS-Message; a=b", "--data-binary", &body, &url],
                vec!["-H", media, "-H", "transfer-encoding: chunked", "--data-binary", &body, &url],
                vec!["-H", media, "-H", "expect: 100-continue", "--data-binary", &body, &url],
            ] {
                let output = curl_output(&[&[version, "-i", "-H", host], &arguments[..]].concat());
                let (head, message) = output
                    .stdout
                    .split_at(output.stdout.windows(4).rposition(|end| end == b"\r\n\r\n").unwrap() + 4);
                let head = String::from_utf8_lossy(head).to_lowercase();
                assert!(head.contains(" 200") && head.contains(&format!("\r\n{media}\r\n")), "{head}");
                assert!(head.contains("cache-control: max-age=120\r\n"), "{head}");
                assert!(
                    message.starts_with(&[0, 0, 0x85, 0, 0, 1, 0, 1]) && message.ends_with(&[192, 0, 2, 1])
                );
                ran += 1;
            }
            let status = |arguments: &[&str]| curl(&[&[version, "-H", host], arguments].concat()).0;
            assert_eq!(status(&["-I", &by_get]), 200);
            assert_eq!(status(&[&url]), 400, "no query");
            assert_eq!(status(&[&format!("{url}?dns=***")]), 400);
            assert_eq!(status(&[&format!("{url}?dns={}", base64url(b"short"))]), 400);
            assert_eq!(status(&["--data-binary", &body, &url]), 415);
            assert_eq!(status(&["-X", "PUT", "-H", media, "--data-binary", &body, &url]), 405);
            assert_eq!(status(&[&format!("{base}/other?dns={encoded}")]), 404);
            let long = edge.folder.path().join("long");
            std::fs::write(&long, vec![0; 70_000]).unwrap();
            assert_eq!(status(&["-H", media, "--data-binary", &format!("@{}", long.display()), &url]), 413);
            // Other hosts answer no queries: this one is a zone without an origin.
            let of_zone = curl(&[version, "-H", "host: www.example.com", &by_get]);
            assert_ne!(of_zone.0, 200, "{of_zone:?}");
        }
    }
    assert_eq!(ran, 20);
    let (_, negative) = curl(&[
        "-i",
        "-H",
        host,
        &format!("https://{tls}/dns-query?dns={}", base64url(&query("none.example.com", 1))),
    ]);
    assert!(negative.to_lowercase().contains("cache-control: max-age=1800"), "{negative}");
    assert!(edge.metrics().contains("protocol=\"https\",type=\"A\"}"));
    edge.wait_for_event("request_refused", |event| event["reason"] == "no_query");
    edge.wait_for_event("request", |event| event["zone"] == "names");
    assert!(edge.metrics().contains("verdict=\"pass\",zone=\"names\""));
    let refused = Api::new(&edge, TOKEN).ask("POST", "/zones", "", "{\"name\": \"dns.example.net\"}");
    assert!(refused.status == 409 && refused.text().contains("dns.https_hosts"), "{}", refused.text());
}

#[test]
fn settings_of_encrypted_queries_that_cannot_hold_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.toml");
    let checked = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let output = run_cli(&["check", "--conf", file.to_str().unwrap()], b"");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let listener = "[[listeners]]\naddress = \"127.0.0.1:8053\"\n";
    let (code, said) = checked(&format!("{listener}protocol = \"dns\"\n"));
    assert!(code == Some(1) && said.contains("p.toml:3") && said.contains("needs `certificates`"), "{said}");
    let (code, said) = checked(&format!("{listener}protocol = \"ftp\"\n"));
    assert!(code == Some(1) && said.contains("expected"), "{said}");
    let zone = "[[zones]]\nname = \"dns.example\"\norigins = [\"http://192.0.2.1\"]\n";
    let (code, said) = checked(&format!("{listener}{zone}[dns]\nhttps_hosts = [\"dns.example\"]\n"));
    assert!(code == Some(1) && said.contains("both a host of `dns.https_hosts` and a zone"), "{said}");
}
