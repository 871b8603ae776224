//! Sockets: deadlines, caps, PROXY protocol, TLS by name, certificates swapped live.

use crate::support::{Client, Edge, Origin, certificate, curl, wait_for};

/// A TLS listener with these certificates.
pub(crate) fn tls_listener(names: &[&str]) -> String {
    let certificates: String = names
        .iter()
        .map(|name| format!("[[listeners.certificates]]\nchain = \"{name}.pem\"\nkey = \"{name}.key\"\n"))
        .collect();
    format!("[[listeners]]\naddress = \"127.0.0.1:0\"\n{certificates}")
}

fn zone(origin: &Origin) -> String {
    format!("[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n", origin.url())
}

#[test]
fn a_dripped_head_meets_its_deadline_and_an_idle_connection_its_own() {
    let origin = Origin::echo();
    let mut edge = Edge::start(&format!(
        "{}[limits]\nheader_deadline = \"300ms\"\nidle_timeout = \"1s\"\n",
        zone(&origin)
    ));
    let mut dripping = Client::connect(edge.proxy[0]);
    // A byte now and then, for ever: only a deadline of the whole head ends this.
    wait_for("the dripped head to be cut off", || {
        dripping.send("G");
        let stream = dripping.reader.get_ref();
        stream.set_read_timeout(Some(std::time::Duration::from_millis(20))).unwrap();
        dripping.is_closed().then_some(())
    });
    edge.wait_for_event("server_started", |_| true);
    wait_for("the timeout to be counted", || {
        (edge.metric("portcullis_connections_ended_total{outcome=\"header_timeout\"}") == 1.0).then_some(())
    });
    // An idle connection outlives the head's deadline, and is closed in the end.
    let mut idle = Client::connect(edge.proxy[0]);
    let request = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    assert_eq!(idle.send(request).receive().unwrap().status, 200);
    assert_eq!(idle.send(request).receive().unwrap().status, 200);
    assert!(idle.is_closed());
    // One that never says a word is counted as such.
    drop(Client::connect(edge.proxy[0]));
    wait_for("the silent connection to be counted", || {
        (edge.metric("portcullis_connections_ended_total{outcome=\"no_request\"}") >= 1.0).then_some(())
    });
}

#[test]
fn a_slow_answer_is_not_cut_off_by_the_heads_deadline() {
    let (release, waiting) = std::sync::mpsc::channel::<()>();
    let waiting = std::sync::Mutex::new(waiting);
    let origin = Origin::start(move |_, stream| {
        use std::io::Write;
        let _ = waiting.lock().unwrap().recv();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_ok()
    });
    let edge = Edge::start(&format!(
        "{}[limits]\nheader_deadline = \"500ms\"\nidle_timeout = \"500ms\"\n",
        zone(&origin)
    ));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    wait_for("the request at the origin", || (!origin.requests().is_empty()).then_some(()));
    // Well past both deadlines: another connection lives and dies by them meanwhile.
    let mut other = Client::connect(edge.proxy[0]);
    assert!(other.send("G").is_closed());
    release.send(()).unwrap();
    assert_eq!(client.receive().unwrap().text(), "ok");
}

#[test]
fn caps_hold_in_all_and_for_one_address() {
    let origin = Origin::echo();
    let edge =
        Edge::start(&format!("{}[limits]\nconnections = 3\nconnections_per_address = 2\n", zone(&origin)));
    let request = "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n";
    let mut open: Vec<Client> = (0..2)
        .map(|_| {
            let mut client = Client::connect(edge.proxy[0]);
            assert_eq!(client.send(request).receive().unwrap().status, 200);
            client
        })
        .collect();
    assert!(Client::connect(edge.proxy[0]).send(request).receive().is_none());
    edge.wait_for_metric("portcullis_connections_ended_total{outcome=\"too_many_from_address\"}", 1.0);
    edge.wait_for_metric("portcullis_connections", 2.0);
    open.pop();
    wait_for("the place to be given back", || {
        Client::connect(edge.proxy[0])
            .send(request)
            .receive()
            .map(|response| assert_eq!(response.status, 200))
    });
}

#[test]
fn proxy_protocol_names_the_client_and_strangers_may_not_use_it() {
    let origin = Origin::echo();
    let trusted = format!(
        "{}[[listeners]]\naddress = \"127.0.0.1:0\"\nproxy_protocol_from = [\"127.0.0.0/8\"]\n",
        zone(&origin)
    );
    let edge = Edge::start(&trusted);
    let request = b"GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    let mut version_2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c".to_vec();
    version_2.extend([198, 51, 100, 7, 127, 0, 0, 1, 0x30, 0x39, 0, 80]);
    for (header, client) in [
        (b"PROXY TCP4 203.0.113.9 127.0.0.1 4000 80\r\n".to_vec(), "203.0.113.9"),
        (version_2, "198.51.100.7"),
    ] {
        let response = Client::once(edge.proxy[0], [header.as_slice(), request].concat());
        assert_eq!(response.status, 200);
        assert_eq!(origin.last().header("svc-connecting-ip"), Some(client));
        assert_eq!(origin.last().header("x-forwarded-for"), Some(client));
    }
    // Split anywhere, it is still read.
    let mut split = Client::connect(edge.proxy[0]);
    for byte in b"PROXY TCP4 203.0.113.10 127.0.0.1 4000 80\r\n" {
        split.send([*byte]);
    }
    assert_eq!(split.send(request).receive().unwrap().status, 200);
    assert_eq!(origin.last().header("svc-connecting-ip"), Some("203.0.113.10"));
    // A trusted peer must send it.
    assert!(Client::connect(edge.proxy[0]).send(request).receive().is_none());
    edge.wait_for_metric("portcullis_connections_ended_total{outcome=\"proxy_protocol_refused\"}", 1.0);
    // Others are not believed: the header is no request.
    let plain = Edge::start(&zone(&origin));
    let before = origin.requests().len();
    let spoofed = Client::connect(plain.proxy[0])
        .send([b"PROXY TCP4 203.0.113.9 127.0.0.1 4000 80\r\n", request.as_slice()].concat())
        .receive();
    assert!(spoofed.is_none_or(|response| response.status == 400));
    assert_eq!(origin.requests().len(), before);
}

#[test]
fn certificates_are_chosen_by_name_and_swapped_live() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    certificate(folder.path(), "b", &["*.b.example"]);
    let conf = format!("{}{}", tls_listener(&["a", "b"]), zone(&origin));
    let edge = Edge::start_in(folder, &conf, &[]);
    let port = edge.proxy[0].port().to_string();
    let names = |host: &str| {
        let output = std::process::Command::new("curl")
            .args([
                "-sSkv",
                "--max-time",
                "20",
                "--resolve",
                &format!("{host}:{port}:127.0.0.1"),
                &format!("https://{host}:{port}/"),
            ])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let serial = |host: &str| {
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("echo | openssl s_client -connect 127.0.0.1:{port} -servername {host} 2>/dev/null | openssl x509 -noout -serial -ext subjectAltName")])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(serial("a.example").contains("DNS:a.example"), "{}", serial("a.example"));
    assert!(serial("x.b.example").contains("DNS:*.b.example"));
    assert!(serial("unknown.example").contains("DNS:a.example"), "the first is the default");
    assert!(
        names("a.example").contains("ALPN: server accepted h2")
            || names("a.example").contains("accepted to use h2")
    );
    let before = serial("a.example");
    certificate(edge.folder.path(), "a", &["a.example"]);
    wait_for("the new certificate", || {
        (serial("a.example") != before && serial("a.example").contains("a.example")).then_some(())
    });
}

#[test]
fn tls_versions_resumption_and_failed_handshakes() {
    let origin = Origin::echo();
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let edge = Edge::start_in(folder, &format!("{}{}", tls_listener(&["a"]), zone(&origin)), &[]);
    let openssl = |arguments: &str| {
        let command = format!(
            "printf 'GET / HTTP/1.1\\r\\nHost: a.example\\r\\nConnection: close\\r\\n\\r\\n' | timeout 20 openssl s_client -ign_eof -connect {} -servername a.example {arguments} 2>&1",
            edge.proxy[0]
        );
        let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for version in ["-tls1_2", "-tls1_3"] {
        let session = edge.folder.path().join(format!("session{version}")).display().to_string();
        assert!(openssl(&format!("{version} -sess_out {session}")).contains("HTTP/1.1 200"), "{version}");
        assert!(openssl(&format!("{version} -sess_in {session}")).contains("Reused"), "{version} resumes");
    }
    assert!(!openssl("-tls1_1").contains("HTTP/1.1 200"));
    Client::connect(edge.proxy[0]).send("GET / HTTP/1.1\r\n\r\n").receive();
    wait_for("failed handshakes to be counted", || {
        (edge.metric("portcullis_connections_ended_total{outcome=\"tls_failed\"}") >= 1.0).then_some(())
    });
    let url = format!("https://127.0.0.1:{}/", edge.proxy[0].port());
    assert_eq!(curl(&["--http2", "-H", "Host: a.example", &url]).0, 200);
    assert_eq!(origin.last().header("x-forwarded-proto"), Some("https"));
}
