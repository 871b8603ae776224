//! The AI gateway over the wire.

use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc;

use crate::support::{Client, Edge, Origin, run_cli, wait_for};

fn conf(provider: &Origin) -> String {
    format!(
        "gateway_hosts = [\"gw.example\"]\ngateway_token_headers = [\"x-team-token\"]\n\
         [[gateways]]\naccount = \"acme\"\nid = \"main\"\n[[gateways]]\naccount = \"acme\"\nid = \"open\"\nauthentication = false\n\
         [[providers]]\nslug = \"openai\"\nbase_url = \"{}\"\n",
        provider.url()
    )
}

/// A token of `acme/main`, made by the command line while the edge runs.
fn token(edge: &mut Edge) -> String {
    let conf = edge.folder.path().join("p.toml").display().to_string();
    let before = edge.metric("portcullis_snapshot_revision");
    let made = run_cli(
        &["token", "create", "--account", "acme", "--gateway", "main", "--name", "t", "--conf", &conf],
        b"",
    );
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    wait_for("the token to be known", || {
        (edge.metric("portcullis_snapshot_revision") > before).then_some(())
    });
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

fn call(edge: &Edge, path: &str, headers: &str) -> crate::support::Response {
    let body = r#"{"model":"m","messages":[]}"#;
    Client::once(
        edge.proxy[0],
        format!(
            "POST {path} HTTP/1.1\r\nHost: gw.example\r\n{headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
}

#[test]
fn the_state_table_and_one_body_for_all_refusals() {
    let provider = Origin::fixed("application/json", "{}");
    let mut edge = Edge::start(&conf(&provider));
    let token = token(&mut edge);
    let path = "/v1/acme/main/openai/v1/chat/completions";
    for accepted in [
        format!("svc-aig-authorization: Bearer {token}\r\n"),
        format!("svc-aig-authorization: {token}\r\n"),
        format!("SVC-AIG-TOKEN: Bearer {token}\r\n"),
        format!("x-team-token: {token}\r\n"),
        format!("Sec-WebSocket-Protocol: realtime, svc-aig-authorization.{token}\r\n"),
    ] {
        assert_eq!(call(&edge, path, &accepted).status, 200, "{accepted}");
    }
    let served = provider.requests().len();
    let mut bodies = Vec::new();
    for refused in [
        String::new(),
        "svc-aig-authorization: Bearer\r\n".to_owned(),
        "svc-aig-authorization: Bearer wrong\r\n".to_owned(),
        format!("svc-aig-authorization: Bearer {}x\r\n", token),
        "svc-aig-authorization: \r\n".to_owned(),
        format!("authorization: Bearer {token}\r\n"),
    ] {
        let response = call(&edge, path, &refused);
        assert_eq!((response.status, response.header("svc-aig-error")), (401, Some("2009")), "{refused}");
        bodies.push(response.body);
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]));
    for headers in [String::new(), "svc-aig-authorization: Bearer wrong\r\n".to_owned()] {
        assert_eq!(call(&edge, "/v1/acme/open/openai/v1/x", &headers).status, 200);
    }
    assert_eq!(provider.requests().len(), served + 2, "no refused call reached the provider");
    let unknown = call(&edge, "/v1/acme/none/openai/x", "");
    assert_eq!((unknown.status, unknown.header("svc-aig-error")), (400, Some("2001")));
    let provider_unknown = call(&edge, "/v1/acme/open/nope/x", "");
    assert_eq!((provider_unknown.status, provider_unknown.header("svc-aig-error")), (400, Some("2008")));
    // Refused calls are counted, bounded in labels, and nothing of them is kept.
    edge.wait_for_metric("portcullis_gateway_requests_total{gateway=\"acme/main\",outcome=\"unauthorized\",provider=\"openai\"}", 6.0);
    assert!(!edge.metrics().contains("nope") && !edge.metrics().contains("acme/none"));
    assert!(!edge.log_text().contains(&token));
    let stored = std::fs::read(edge.folder.path().join("state/portcullis.db")).unwrap();
    assert!(memchr::memmem::find(&stored, token.as_bytes()).is_none(), "only the hash is stored");
}

#[test]
fn a_refusal_comes_before_the_body_is_read() {
    let provider = Origin::fixed("application/json", "{}");
    let edge = Edge::start(&conf(&provider));
    let mut client = Client::connect(edge.proxy[0]);
    client
        .send("POST /v1/acme/main/openai/x HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 1000000\r\n\r\n");
    assert_eq!(client.receive().unwrap().status, 401);
}

#[test]
fn everything_else_passes_as_it_was_sent() {
    let provider = Origin::echo();
    let mut edge = Edge::start(&conf(&provider));
    let token = token(&mut edge);
    let body: Vec<u8> = (0..=255u8).cycle().take(200_000).collect();
    let head = format!(
        "POST /v1/acme/main/openai/v1/a%2Fb//c?x=%20y&z HTTP/1.1\r\nHost: gw.example\r\nsvc-aig-authorization: Bearer {token}\r\n\
         svc-aig-metadata: {{}}\r\nsvc-aig-cache-ttl: 60\r\nAuthorization: Bearer  provider==key \r\nX-Odd: a;b=\"c\"\r\n\
         Accept-Encoding: gzip, zstd\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let response = Client::once(edge.proxy[0], [head.as_bytes(), &body].concat());
    assert_eq!((response.status, response.body == body), (200, true));
    let seen = provider.last();
    assert_eq!(seen.path(), "/v1/a%2Fb//c?x=%20y&z");
    assert_eq!(seen.header("authorization"), Some("Bearer  provider==key"));
    assert_eq!(seen.header("x-odd"), Some("a;b=\"c\""));
    assert_eq!(seen.header("accept-encoding"), Some("gzip, zstd"));
    assert_eq!(seen.header("host"), Some(provider.address.to_string().as_str()));
    let ours: Vec<_> = seen
        .headers
        .iter()
        .filter(|(name, value)| name.to_lowercase().starts_with("svc-") || value.contains(&token))
        .collect();
    assert!(ours.is_empty(), "{ours:?}");
    assert!(seen.header("x-forwarded-for").is_none(), "providers are not told who calls");
}

#[test]
fn events_are_delivered_one_by_one() {
    let (next, wanted) = mpsc::channel::<()>();
    let wanted = Mutex::new(wanted);
    let provider = Origin::start(move |_, stream| {
        let mut ok = stream
            .write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
            )
            .is_ok();
        for number in 0..5 {
            // The next event is only sent when the client has the one before.
            ok = ok && wanted.lock().unwrap().recv().is_ok();
            let event = format!("data: {number}\n\n");
            ok = ok && stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).is_ok();
        }
        ok && stream.write_all(b"0\r\n\r\n").is_ok()
    });
    let edge = Edge::start(&conf(&provider));
    let mut client = Client::connect(edge.proxy[0]);
    client.send("POST /v1/acme/open/openai/v1/x HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 2\r\n\r\n{}");
    let head = client.head().unwrap();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    for number in 0..5 {
        next.send(()).unwrap();
        let size = usize::from_str_radix(&client.line().unwrap(), 16).unwrap();
        let text = client.line().unwrap();
        assert_eq!((size, text), (9, format!("data: {number}")));
        assert_eq!((client.line().unwrap(), client.line().unwrap()), (String::new(), String::new()));
    }
}

#[test]
fn a_client_that_goes_away_cancels_the_provider() {
    let (gone, noticed) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let provider = Origin::start(move |request, stream| {
        use std::io::Read;
        if request.path() == "/v1/stream" {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 0\n\n\r\n");
        }
        // Ends only when the edge hangs up.
        let read = stream.read(&mut [0]);
        assert!(matches!(read, Ok(0) | Err(_)));
        gone.lock().unwrap().send(()).unwrap();
        false
    });
    let mut edge = Edge::start(&conf(&provider));
    for path in ["stream", "silent"] {
        let mut client = Client::connect(edge.proxy[0]);
        client.send(format!("POST /v1/acme/open/openai/v1/{path} HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 2\r\n\r\n{{}}"));
        wait_for("the call at the provider", || {
            provider.requests().iter().any(|r| r.path().ends_with(path)).then_some(())
        });
        if path == "stream" {
            assert_eq!(client.head().unwrap().status, 200);
        }
        drop(client);
        noticed.recv_timeout(crate::support::PATIENCE).expect("the provider to be hung up on");
    }
    edge.wait_for_event("gateway_request", |event| event["outcome"] == "cancelled");
}

#[test]
fn a_provider_that_breaks_off_is_never_a_clean_end() {
    let provider = Origin::start(|request, stream| {
        if request.path() == "/v1/broken" {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 0\n\n\r\n");
        }
        false
    });
    let edge = Edge::start(&conf(&provider));
    let silent = call(&edge, "/v1/acme/open/openai/v1/silent", "");
    assert_eq!(
        (silent.status, silent.header("svc-aig-error"), silent.header("x-should-retry")),
        (502, Some("2005"), Some("true"))
    );
    let mut client = Client::connect(edge.proxy[0]);
    client.send(
        "POST /v1/acme/open/openai/v1/broken HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 2\r\n\r\n{}",
    );
    assert!(client.receive().is_none(), "no last chunk");
}

#[test]
fn a_refusal_keeps_the_connection_where_the_body_is_short() {
    let provider = Origin::fixed("application/json", "{}");
    let edge = Edge::start(&conf(&provider));
    let mut client = Client::connect(edge.proxy[0]);
    for _ in 0..3 {
        client.send("POST /v1/acme/main/openai/x HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 5\r\n\r\n");
        assert_eq!(client.receive().unwrap().status, 401);
        // The body comes after the answer, and is not taken for the next request.
        client.send("GET /");
    }
    client.send("GET /v1/acme/open/openai/x HTTP/1.1\r\nHost: gw.example\r\n\r\n");
    assert_eq!(client.receive().unwrap().status, 200);
    assert_eq!(provider.requests().len(), 1);
    // One that stays away ends the connection after a moment.
    client.send("POST /v1/acme/main/openai/x HTTP/1.1\r\nHost: gw.example\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.receive().unwrap().status, 401);
    assert!(client.is_closed());
}
