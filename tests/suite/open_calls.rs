//! Calls without an end of their own end with the right of their caller.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, mpsc};

use tungstenite::client::ClientRequestBuilder;

use crate::support::{Client, Edge, Origin, run_cli, run_for_gateway, wait_for};

const GATEWAY: &str = "gateway_hosts = [\"gw.example\"]\n[[gateways]]\naccount = \"acme\"\nid = \"main\"\n";

/// A token of the gateway that is in force.
fn token(edge: &Edge, name: &str) -> String {
    let made = run_for_gateway(edge.folder.path(), &["token", "create"], &["--name", name], b"");
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    wait_for("the token to be known", || is_known(edge, &token).then_some(()));
    token
}

/// Whether a token is let in: the provider is none, which is found out behind that.
fn is_known(edge: &Edge, token: &str) -> bool {
    let asked = format!(
        "GET /v1/acme/main/none/x HTTP/1.1\r\nHost: gw.example\r\nsvc-aig-authorization: Bearer {token}\r\n\r\n"
    );
    Client::once(edge.proxy[0], asked).status != 401
}

fn revoke(edge: &Edge, name: &str, token: &str) {
    let conf = edge.folder.path().join("p.toml").display().to_string();
    let listed = run_for_gateway(edge.folder.path(), &["token", "list"], &[], b"").stdout;
    let listed = String::from_utf8(listed).unwrap();
    let id = listed.lines().find(|line| line.contains(name)).unwrap().split(' ').next().unwrap();
    assert!(run_cli(&["token", "revoke", id, "--conf", &conf], b"").status.success());
    wait_for("the token to be refused", || (!is_known(edge, token)).then_some(()));
}

#[test]
fn a_stream_of_a_server_of_tools_ends_with_the_token_of_its_caller() {
    let (next, served) = mpsc::channel::<()>();
    let served = Mutex::new(served);
    let server = Origin::start(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let _ = write!(stream, "{head}d\r\n: listening\n\n\r\n");
        while served.lock().unwrap().recv().is_ok() && write!(stream, "8\r\n: more\n\n\r\n").is_ok() {}
        false
    });
    let server_of_tools = format!(
        "[[gateways.mcp_servers]]\nname = \"tickets\"\nurl = \"{}/mcp/\"\nallow_private = true\n",
        server.url()
    );
    let mut edge = Edge::start(&format!("{GATEWAY}{server_of_tools}"));
    let (own, other) = (token(&edge, "own"), token(&edge, "other"));
    let mut listener = Client::connect(edge.proxy[0]);
    listener.send(format!(
        "GET /v1/acme/main/mcp/tickets HTTP/1.1\r\nHost: gw.example\r\nAccept: text/event-stream\r\n\
         svc-aig-authorization: Bearer {own}\r\n\r\n"
    ));
    assert_eq!(listener.head().unwrap().status, 200);
    let mut lines = |most: usize| -> Vec<String> { (0..most).map_while(|_| listener.line()).collect() };
    assert_eq!(lines(4), ["D", ": listening", "", ""]);
    revoke(&edge, "other", &other);
    next.send(()).unwrap();
    assert_eq!(lines(4), ["8", ": more", "", ""]);
    revoke(&edge, "own", &own);
    next.send(()).unwrap();
    assert_eq!(lines(9), [""; 0], "nothing passes, nor does the stream look whole");
    let row = edge.wait_for_event("ai_call", |_| true);
    assert_eq!((&row["error"], &row["success"]), (&"unauthorized".into(), &false.into()), "{row}");
}

/// A provider that sends back what it gets, and how many messages it got.
fn echo() -> (String, mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (ended, got) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Ok(mut socket) = tungstenite::accept(stream) else { continue };
            let mut messages = 0;
            while let Ok(message) = socket.read() {
                messages += 1;
                if socket.send(message).is_err() {
                    break;
                }
            }
            ended.send(messages).unwrap();
        }
    });
    (url, got)
}

#[test]
fn a_web_socket_ends_with_the_token_of_its_caller_or_its_gateway() {
    let (url, got) = echo();
    let provider = format!("[[providers]]\nslug = \"openai\"\nbase_url = \"{url}\"\nallow_private = true\n");
    let edge = Edge::start(&format!("{GATEWAY}{provider}"));
    let connect = |token: &str| {
        let uri = "ws://gw.example/v1/acme/main/openai/v1/realtime".parse().unwrap();
        let request =
            ClientRequestBuilder::new(uri).with_header("svc-aig-authorization", format!("Bearer {token}"));
        tungstenite::client(request, TcpStream::connect(edge.proxy[0]).unwrap()).unwrap().0
    };
    let name = "own";
    let own = token(&edge, name);
    let mut socket = connect(&own);
    socket.send("one".into()).unwrap();
    assert_eq!(socket.read().unwrap().to_text().unwrap(), "one");
    revoke(&edge, name, &own);
    socket.send("two".into()).unwrap();
    assert!(socket.read().is_err(), "the connection ends");
    assert_eq!(got.recv().unwrap(), 1, "the provider did not get the second message");
    let other = token(&edge, "other");
    let mut socket = connect(&other);
    socket.send("one".into()).unwrap();
    assert_eq!(socket.read().unwrap().to_text().unwrap(), "one");
    edge.rewrite(&provider);
    wait_for("the gateway to be gone", || {
        let asked = "GET /v1/acme/main/none/x HTTP/1.1\r\nHost: gw.example\r\n\r\n";
        (Client::once(edge.proxy[0], asked).status == 404).then_some(())
    });
    socket.send("two".into()).unwrap();
    assert!(socket.read().is_err() && got.recv().unwrap() == 1);
}
