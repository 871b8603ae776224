//! A gRPC call in both directions: its first message is judged, and nothing after it is held.

use std::time::Duration;

use bytes::Bytes;

use super::clients;
use super::support::Edge;

const PATIENCE: Duration = Duration::from_secs(5);

/// A message as gRPC frames it.
fn message(text: &str) -> Bytes {
    let length = u32::try_from(text.len()).unwrap().to_be_bytes();
    [&[0], &length[..], text.as_bytes()].concat().into()
}

/// An HTTP/2 origin that answers at once, and sends each piece back as it comes.
async fn echo(listener: tokio::net::TcpListener) {
    while let Ok((tcp, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut connection = h2::server::handshake(tcp).await.ok()?;
            while let Some(Ok((request, mut answer))) = connection.accept().await {
                tokio::spawn(async move {
                    let head =
                        http::Response::builder().header("content-type", "application/grpc").body(()).ok()?;
                    let mut sink = answer.send_response(head, false).ok()?;
                    let mut body = request.into_body();
                    while let Some(piece) = body.data().await {
                        let piece = piece.ok()?;
                        body.flow_control().release_capacity(piece.len()).ok()?;
                        sink.send_data(piece, false).ok()?;
                    }
                    sink.send_data(Bytes::new(), true).ok()
                });
            }
            Some(())
        });
    }
}

#[test]
fn a_call_in_both_directions_waits_for_no_end() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let origin = listener.local_addr().unwrap();
    runtime.spawn(echo(listener));
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
    std::fs::write(folder.path().join("a.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("a.key"), made.signing_key.serialize_pem()).unwrap();
    let conf = format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\n[[listeners.certificates]]\nchain = \"a.pem\"\nkey = \"a.key\"\n\
         [[zones]]\nname = \"a.example\"\norigins = [\"http://{origin}\"]\norigin_protocol = \"http2\"\n[zones.waf]\n"
    );
    let edge = Edge::start_in(folder, &conf, &[]);
    let call = async {
        let mut client = clients::connect_http2(edge.proxy[0]).await.expect("a connection");
        let head = http::Request::builder()
            .method("POST")
            .uri("https://a.example/chat.Chat/Talk")
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .unwrap();
        let (answer, mut sink) = client.send_request(head, false).unwrap();
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
