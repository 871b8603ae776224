//! An origin that speaks HTTP/2 without TLS: it relays each request, piece by piece as it comes, to an origin that
//! records what reaches it.

use std::net::SocketAddr;
use std::sync::mpsc;

use bytes::Bytes;

use super::support::{Client, Response};

/// Starts one in front of another origin.
pub fn in_front_of(origin: SocketAddr) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((tcp, _)) = listener.accept().await {
                tokio::spawn(serve(tcp, origin));
            }
        });
    });
    address
}

async fn serve(tcp: tokio::net::TcpStream, origin: SocketAddr) -> Option<()> {
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(4 << 20).initial_connection_window_size(16 << 20);
    let mut connection: h2::server::Connection<_, Bytes> = builder.handshake(tcp).await.ok()?;
    while let Some(Ok((request, mut answer))) = connection.accept().await {
        tokio::spawn(async move {
            let (pieces, relayed) = mpsc::channel();
            let (head, mut body) = request.into_parts();
            let has_body = !body.is_end_stream();
            let relay = tokio::task::spawn_blocking(move || relay(origin, &head, has_body, &relayed));
            while let Some(Ok(piece)) = body.data().await {
                body.flow_control().release_capacity(piece.len()).ok()?;
                if !piece.is_empty() {
                    pieces.send(piece).ok()?;
                }
            }
            if !body.is_end_stream() {
                body.trailers().await.ok()?;
            }
            pieces.send(Bytes::new()).ok()?;
            let response = relay.await.ok()??;
            let mut head = http::Response::builder().status(response.status);
            for (name, value) in &response.headers {
                if !matches!(name.to_ascii_lowercase().as_str(), "connection" | "transfer-encoding") {
                    head = head.header(name, value);
                }
            }
            let mut sink = answer.send_response(head.body(()).ok()?, response.body.is_empty()).ok()?;
            if !response.body.is_empty() {
                sink.send_data(response.body.into(), true).ok()?;
            }
            Some(())
        });
    }
    Some(())
}

/// Sends a request on. A piece without bytes is its end; where none comes, the request broke off.
fn relay(
    origin: SocketAddr,
    head: &http::request::Parts,
    has_body: bool,
    pieces: &mpsc::Receiver<Bytes>,
) -> Option<Response> {
    let mut client = Client::connect(origin);
    let mut text = format!("{} {} HTTP/1.1\r\nHost: a.example\r\n", head.method, head.uri.path_and_query()?);
    for (name, value) in &head.headers {
        text.push_str(&format!("{name}: {}\r\n", value.to_str().ok()?));
    }
    let is_chunked = has_body && !head.headers.contains_key("content-length");
    text.push_str(if is_chunked { "Transfer-Encoding: chunked\r\n\r\n" } else { "\r\n" });
    client.send(text);
    loop {
        let piece = pieces.recv().ok()?;
        if piece.is_empty() {
            break;
        }
        match is_chunked {
            true => client.send([format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat()),
            false => client.send(&piece),
        };
    }
    if is_chunked {
        client.send("0\r\n\r\n");
    }
    client.receive()
}
