//! What must pass untouched: WebSocket, event streams, gRPC trailers, connections that are kept.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::listener::tls_listener;
use crate::support::{Client, Edge, Origin, certificate, wait_for};

/// A child that is killed when dropped.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port nothing listens on now. It is below those that the system gives out, so that no other test's
/// socket gets it before it is used.
pub(crate) fn free_port() -> u16 {
    let candidates = std::iter::repeat_with(|| 10_000 + u16::from_le_bytes(random()) % 20_000);
    let mut free = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().unwrap()
}

fn random() -> [u8; 2] {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}

#[test]
fn web_sockets_pass_both_ways_and_may_be_silent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut socket = tungstenite::accept(stream).unwrap();
                while let Ok(message) = socket.read() {
                    if message.is_text() || message.is_binary() {
                        socket.send(message).unwrap();
                    }
                }
            });
        }
    });
    // Rules and deadlines are on; none of them is for frames.
    let conf = format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"http://{address}\"]\n[zones.waf]\n[zones.sensitive_data]\n\
         [limits]\nheader_deadline = \"1s\"\nidle_timeout = \"1s\"\n[upstream]\nread_timeout = \"1s\"\n"
    );
    let edge = Edge::start(&conf);
    let stream = TcpStream::connect(edge.proxy[0]).unwrap();
    let (mut socket, response) = tungstenite::client("ws://a.example/chat?room=1", stream).unwrap();
    assert_eq!(response.status(), 101);
    for message in ["hello", "1' UNION SELECT password FROM users", "<script>alert(1)</script>"] {
        socket.send(message.into()).unwrap();
        assert_eq!(socket.read().unwrap().to_text().unwrap(), message);
    }
    // Another connection meets every deadline meanwhile.
    assert!(Client::connect(edge.proxy[0]).send("G").is_closed());
    let large = vec![7u8; 300_000];
    socket.send(large.clone().into()).unwrap();
    assert_eq!(socket.read().unwrap().into_data(), large);
    socket.close(None).unwrap();
    // The head is still judged.
    let stream = TcpStream::connect(edge.proxy[0]).unwrap();
    assert!(
        tungstenite::client(
            "ws://a.example/chat?q=<script>alert(1)</script>".replace('<', "%3C").replace('>', "%3E"),
            stream
        )
        .is_err()
    );
}

#[test]
fn event_streams_of_zones_are_not_held() {
    let (next, wanted) = std::sync::mpsc::channel::<()>();
    let wanted = std::sync::Mutex::new(wanted);
    let origin = Origin::start(move |_, stream| {
        let mut ok = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").is_ok();
        while ok && wanted.lock().unwrap().recv().is_ok() {
            ok = stream.write_all(b"data: x\n\n").is_ok();
        }
        false
    });
    let edge = Edge::start(&format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n[zones.sensitive_data]\n",
        origin.url()
    ));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("GET / HTTP/1.0\r\nHost: a.example\r\n\r\n");
    assert_eq!(client.head().unwrap().status, 200);
    for _ in 0..3 {
        next.send(()).unwrap();
        let mut event = [0; 9];
        client.reader.read_exact(&mut event).unwrap();
        assert_eq!(&event, b"data: x\n\n");
    }
}

#[test]
fn grpc_trailers_pass_from_http2_to_http2() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("reply"), "message").unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let port = free_port();
    let nghttpd = Command::new("nghttpd")
        .args([
            "--no-tls",
            "--trailer=grpc-status: 0",
            "--trailer=grpc-message: fine",
            "-a",
            "127.0.0.1",
            "-d",
        ])
        .arg(folder.path())
        .arg(port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nghttpd is installed");
    let _nghttpd = Killed(nghttpd);
    wait_for("nghttpd", || TcpStream::connect(("127.0.0.1", port)).ok());
    let conf = format!(
        "{}[[zones]]\nname = \"a.example\"\norigins = [\"http://127.0.0.1:{port}\"]\norigin_protocol = \"http2\"\n[zones.waf]\n",
        tls_listener(&["a"])
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let output = Command::new("nghttp")
        .args([
            "-v",
            "-H",
            ":authority: a.example",
            "-H",
            "te: trailers",
            &format!("https://127.0.0.1:{}/reply", edge.proxy[0].port()),
        ])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains(":status: 200")
            && text.contains("grpc-status: 0")
            && text.contains("grpc-message: fine"),
        "{text}"
    );
}

#[test]
fn http2_connections_carry_many_requests() {
    let origin = Origin::fixed("text/plain", "fine");
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["127.0.0.1"]);
    let conf = format!(
        "{}[[zones]]\nname = \"127.0.0.1\"\norigins = [\"{}\"]\n[zones.waf]\n",
        tls_listener(&["a"]),
        origin.url()
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let output = Command::new("h2load")
        .args(["-n", "2000", "-c", "4", "-m", "16", &format!("https://127.0.0.1:{}/", edge.proxy[0].port())])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("2000 succeeded, 0 failed"), "{text}");
}

#[test]
fn connections_are_kept_and_early_hints_pass() {
    let origin = Origin::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok").is_ok()
    });
    let edge = Edge::start(&format!(
        "[[zones]]\nname = \"a.example\"\norigins = [\"{}\"]\n[zones.waf]\n[zones.sensitive_data]\n",
        origin.url()
    ));
    let mut client = Client::connect(edge.proxy[0]);
    for _ in 0..3 {
        let head = client.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").head().unwrap();
        assert_eq!((head.status, head.header("link")), (103, Some("</a.css>")));
        assert_eq!(client.receive().unwrap().text(), "ok");
    }
    // Early hints are no body of their own, and the same body is scanned once.
    wait_for("each response to be looked at once", || {
        let identical = edge.metric("portcullis_scans_skipped_total{reason=\"identical\"}");
        (edge.metric("portcullis_scans_total") + identical == 3.0).then_some(())
    });
    edge.wait_for_metric(
        "portcullis_requests_total{status=\"200\",verdict=\"pass\",zone=\"a.example\"}",
        3.0,
    );
    let refused = client
        .send("GET /?q=%3Cscript%3Ealert(1)%3C/script%3E HTTP/1.1\r\nHost: a.example\r\n\r\n")
        .receive()
        .unwrap();
    assert_eq!(refused.status, 403);
    assert_eq!(
        client.send("HEAD /x?q=../../etc/passwd HTTP/1.1\r\nHost: a.example\r\n\r\n").head().unwrap().status,
        403
    );
    let again = client.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").receive().unwrap();
    assert_eq!(
        (again.status, again.text()),
        (200, "ok".to_owned()),
        "a refusal without a body keeps the connection"
    );
}
