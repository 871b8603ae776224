//! gRPC calls in both directions: each message is judged before it goes on, and none waits for the next.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::clients;
use super::support::{Edge, certificate, gzip};

const PATIENCE: Duration = Duration::from_secs(5);

/// A message as gRPC frames it.
fn message(text: &str) -> Bytes {
    framed(0, text.as_bytes())
}

fn framed(flag: u8, message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[flag], &length[..], message].concat().into()
}

/// What an origin was sent, all calls together.
type Seen = Arc<Mutex<Vec<u8>>>;

/// An HTTP/2 origin that answers at once, and sends each piece back as it comes.
async fn echo(listener: tokio::net::TcpListener, seen: Seen) {
    while let Ok((tcp, _)) = listener.accept().await {
        let seen = Arc::clone(&seen);
        tokio::spawn(async move {
            let mut connection = h2::server::handshake(tcp).await.ok()?;
            while let Some(Ok((request, mut answer))) = connection.accept().await {
                let seen = Arc::clone(&seen);
                tokio::spawn(async move {
                    let head =
                        http::Response::builder().header("content-type", "application/grpc").body(()).ok()?;
                    let mut sink = answer.send_response(head, false).ok()?;
                    let mut body = request.into_body();
                    while let Some(piece) = body.data().await {
                        let piece = piece.ok()?;
                        body.flow_control().release_capacity(piece.len()).ok()?;
                        seen.lock().unwrap().extend_from_slice(&piece);
                        sink.send_data(piece, false).ok()?;
                    }
                    sink.send_data(Bytes::new(), true).ok()
                });
            }
            Some(())
        });
    }
}

struct Stage {
    runtime: tokio::runtime::Runtime,
    edge: Edge,
    seen: Seen,
}

fn stage() -> Stage {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let (origin, seen) = (listener.local_addr().unwrap(), Seen::default());
    runtime.spawn(echo(listener, Arc::clone(&seen)));
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "a", &["a.example"]);
    let conf = format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[listeners.certificates]]\nchain = \"a.pem\"\nkey = \"a.key\"\n\
         [[zones]]\nname = \"a.example\"\norigins = [\"http://{origin}\"]\norigin_protocol = \"http2\"\n[zones.waf]\n"
    );
    Stage { runtime, edge: Edge::start_in(folder, &conf, &[]), seen }
}

fn head(fields: &[(&str, &str)]) -> http::Request<()> {
    let mut head = http::Request::builder()
        .method("POST")
        .uri("https://a.example/chat.Chat/Talk")
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in fields {
        head = head.header(*name, *value);
    }
    head.body(()).unwrap()
}

const ATTACK: &str = "id=1' UNION SELECT password FROM users--";

/// How a call ends: its status, and whether the stream was reset after that.
async fn outcome(edge: &Edge, fields: &[(&str, &str)], pieces: &[Bytes]) -> (u16, bool) {
    let mut client = clients::connect_http2(edge.proxy[0]).await.expect("a connection");
    let (answer, mut sink) = client.send_request(head(fields), false).unwrap();
    for (nth, piece) in pieces.iter().enumerate() {
        // A stream that was refused meanwhile takes no more.
        if sink.send_data(piece.clone(), nth + 1 == pieces.len()).is_err() {
            break;
        }
    }
    let Ok(answer) = answer.await else { return (0, true) };
    let status = answer.status().as_u16();
    let mut body = answer.into_body();
    while let Some(piece) = body.data().await {
        let Ok(piece) = piece else { return (status, true) };
        body.flow_control().release_capacity(piece.len()).unwrap();
    }
    (status, false)
}

#[test]
fn no_message_of_a_stream_passes_unseen() {
    let Stage { runtime, edge, seen } = stage();
    let split = |bytes: Bytes| bytes.chunks(1).map(Bytes::copy_from_slice).collect::<Vec<_>>();
    let long = message(&"a long word ".repeat(200_000));
    let coded = [("grpc-encoding", "gzip")];
    let compressed = |text: &str| framed(1, &gzip(text));
    let harmless = [
        (&[][..], vec![message("one"), message("two")]),
        (&[][..], vec![message("one"), long, message("two")]),
        (&coded[..], vec![message("one"), compressed("two")]),
        (&[][..], [vec![message("one")], split(message("two")), split(message("three"))].concat()),
    ];
    for (fields, pieces) in harmless {
        seen.lock().unwrap().clear();
        let call = async { tokio::time::timeout(PATIENCE, outcome(&edge, fields, &pieces)).await };
        assert_eq!(runtime.block_on(call).expect("the call hangs"), (200, false), "{fields:?}");
        assert!(*seen.lock().unwrap() == pieces.concat(), "the bytes changed: {fields:?}");
    }
    let empty = || message("");
    let attacks = [
        (&[][..], vec![message(ATTACK)]),
        (&[][..], vec![framed(0, &[&[0x0a, ATTACK.len() as u8][..], ATTACK.as_bytes()].concat())]),
        (&[][..], vec![message(&format!("{{\"a\":\"{ATTACK}\"}}"))]),
        (&[][..], vec![empty(), message(ATTACK)]),
        (&[][..], vec![empty(), message("two"), message(ATTACK), message("four")]),
        (&[][..], [vec![empty()], split(message(ATTACK))].concat()),
        (&[][..], vec![[empty(), message(ATTACK)].concat().into()]),
        (&[][..], vec![empty(), Bytes::from_static(b"\x07"), ATTACK.into()]),
        (&[][..], vec![empty(), message(ATTACK).slice(..20), message(ATTACK).slice(20..)]),
        (&coded[..], vec![compressed(ATTACK)]),
        (&coded[..], vec![empty(), compressed(ATTACK)]),
        (&[][..], vec![empty(), compressed(ATTACK)]),
        (&[("grpc-encoding", "own")][..], vec![empty(), compressed(ATTACK)]),
    ];
    for (nth, (fields, pieces)) in attacks.iter().enumerate() {
        seen.lock().unwrap().clear();
        let call = async { tokio::time::timeout(PATIENCE, outcome(&edge, fields, pieces)).await };
        let ended = runtime.block_on(call);
        let (status, is_reset) = ended.unwrap_or_else(|_| panic!("call {nth} hangs"));
        assert!(status == 403 || status == 415 || is_reset, "{nth} {fields:?}: {status}");
        let seen = seen.lock().unwrap();
        let has = |bytes: &[u8]| seen.windows(bytes.len()).any(|window| window == bytes);
        assert!(!has(b"SELECT") && !has(&gzip(ATTACK)), "{nth} {fields:?} reached the origin");
    }
}

#[test]
fn a_call_in_both_directions_waits_for_no_end() {
    let Stage { runtime, edge, .. } = stage();
    let call = async {
        let mut client = clients::connect_http2(edge.proxy[0]).await.expect("a connection");
        let (answer, mut sink) = client.send_request(head(&[]), false).unwrap();
        sink.send_data(message("first"), false).unwrap();
        // The client has said its first word only.
        let answer = answer.await.expect("an answer while the client still sends");
        assert_eq!(answer.status(), 200);
        let mut body = answer.into_body();
        for text in ["first", "second", "third"] {
            if text != "first" {
                sink.send_data(message(text), false).unwrap();
            }
            let expected = message(text);
            let mut read = Vec::new();
            while read.len() < expected.len() {
                let piece = body.data().await.expect("a piece").unwrap();
                body.flow_control().release_capacity(piece.len()).unwrap();
                read.extend_from_slice(&piece);
            }
            assert_eq!(read, expected, "{text}");
        }
        sink.send_data(Bytes::new(), true).unwrap();
        assert!(body.data().await.is_none_or(|piece| piece.is_ok_and(|piece| piece.is_empty())));
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, call).await }).expect("the call hangs");
}
