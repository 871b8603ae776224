//! How requests are sent.

use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::breaks::BreakOff;
use super::support::{AnyCertificate, Client, Http3, Response};

/// How a body is framed and when its bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Length,
    Chunked,
    /// In chunks of a thousand and one bytes, each sent alone, with an extension and a trailer.
    Pieces,
    /// All but the last byte, then, when the edge has had time to act, the last.
    Late,
    /// `Expect: 100-continue`
    Expects,
    /// A field `Upgrade` without a meaning.
    Upgrade,
    /// Behind a request that is sent before it, in the same piece.
    Behind,
    Http10,
    Http2,
    /// In many frames, without a length, with trailers.
    Http2Frames,
    Http3,
    /// In many frames, without a length.
    Http3Frames,
}

pub const FRAMINGS: &[Framing] = &[
    Framing::Length,
    Framing::Chunked,
    Framing::Pieces,
    Framing::Late,
    Framing::Expects,
    Framing::Upgrade,
    Framing::Behind,
    Framing::Http10,
    Framing::Http2,
    Framing::Http2Frames,
    Framing::Http3,
    Framing::Http3Frames,
];

/// Longest wait for anything: a case that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A request, apart from how it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    pub host: &'r str,
    pub target: &'r str,
    pub content_type: &'r str,
    /// The content coding of the body.
    pub coding: Option<&'r str>,
    pub body: &'r [u8],
}

/// Sends a request; the answer, and the one to the request behind it where the connection goes on.
pub fn send(
    framing: Framing,
    plain: SocketAddr,
    tls: SocketAddr,
    request: Request<'_>,
) -> Option<(Response, Option<Response>)> {
    let (response, next) = match framing {
        Framing::Http2 => (http2(tls, request, false)?, None),
        Framing::Http2Frames => (http2(tls, request, true)?, None),
        Framing::Http3 => (http3(tls, request, false)?, None),
        Framing::Http3Frames => (http3(tls, request, true)?, None),
        _ => http1(framing, plain, request)?,
    };
    Some((decoded(response)?, next.map(decoded).map_or(Some(None), |next| next.map(Some))?))
}

/// The body as it was before it was compressed; `None` if it is damaged.
fn decoded(mut response: Response) -> Option<Response> {
    if response.header("content-encoding") == Some("gzip") {
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(&*response.body).read_to_end(&mut body).ok()?;
        response.body = body;
    }
    Some(response)
}

fn http1(
    framing: Framing,
    address: SocketAddr,
    request: Request<'_>,
) -> Option<(Response, Option<Response>)> {
    let Request { host, target, content_type, coding, body } = request;
    let mut client = Client::connect(address);
    client.reader.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    let next = format!("GET /next HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n\r\n");
    let version = if framing == Framing::Http10 { "1.0" } else { "1.1" };
    let coding = coding.map(|coding| format!("Content-Encoding: {coding}\r\n")).unwrap_or_default();
    let head = format!(
        "POST {target} HTTP/{version}\r\nHost: {host}\r\nContent-Type: {content_type}\r\nAccept-Encoding: gzip\r\n{coding}"
    );
    let length = format!("Content-Length: {}\r\n", body.len());
    let with_length = |fields: &str| [format!("{head}{length}{fields}\r\n").as_bytes(), body].concat();
    match framing {
        Framing::Length | Framing::Http10 => drop(client.send(with_length(""))),
        Framing::Upgrade => drop(client.send(with_length("Upgrade: x\r\n"))),
        Framing::Behind => {
            client.send([next.as_bytes(), &with_length("")].concat());
            client.receive()?;
        }
        Framing::Late => {
            let whole = with_length("");
            let (first, last) = whole.split_at(whole.len() - usize::from(!body.is_empty()));
            client.send(first);
            // A byte on another connection, so that the edge has had the first part.
            Client::connect(address).send("G");
            client.send(last);
        }
        Framing::Expects => {
            client.send(format!("{head}{length}Expect: 100-continue\r\n\r\n"));
            // Without a body there is nothing to wait for.
            if !body.is_empty() {
                let first = client.head()?;
                if first.status != 100 {
                    let mut first = first;
                    client.read_body(&mut first)?;
                    return Some((first, None));
                }
                client.send(body);
            }
        }
        Framing::Chunked => {
            let mut bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
            if !body.is_empty() {
                bytes.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
                bytes.extend_from_slice(body);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            client.send(bytes);
        }
        Framing::Pieces => {
            client.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n"));
            for piece in body.chunks(1001.max(body.len() / 50)) {
                client.send([format!("{:X};x=y\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
            }
            client.send("0\r\nX-Trailer: 1\r\n\r\n");
        }
        Framing::Http2 | Framing::Http2Frames | Framing::Http3 | Framing::Http3Frames => return None,
    }
    let response = client.receive()?;
    let goes_on = framing != Framing::Http10
        && response.header("connection").is_none_or(|value| !value.eq_ignore_ascii_case("close"));
    let next = if goes_on { Some(client.send(next).receive()?) } else { None };
    Some((response, next))
}

/// Sends half of a body, then breaks off.
pub fn break_off(how: BreakOff, plain: SocketAddr, tls: SocketAddr, request: Request<'_>) {
    let Request { host, target, content_type, body, .. } = request;
    let half = &body[..body.len() / 2];
    let head = format!("POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content_type}\r\n");
    match how {
        BreakOff::Length => {
            let head = format!("{head}Content-Length: {}\r\n\r\n", body.len());
            Client::connect(plain).send([head.as_bytes(), half].concat());
        }
        BreakOff::Chunked => {
            let head = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", half.len());
            Client::connect(plain).send([head.as_bytes(), half, b"\r\n"].concat());
        }
        BreakOff::Http3 => {
            let head =
                http::Request::post(format!("https://{host}{target}")).header("content-type", content_type);
            break_off_http3(tls, head.body(()).unwrap(), &half[..half.len().min(8_000)]);
        }
        BreakOff::Http2 => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut client = connect_http2(tls).await.unwrap();
                let head = http::Request::builder().method("POST").uri(format!("https://{host}{target}"));
                let head = head.header("content-type", content_type).body(()).unwrap();
                let (answer, mut sink) = client.send_request(head, false).unwrap();
                sink.send_data(Bytes::copy_from_slice(&half[..half.len().min(8_000)]), false).unwrap();
                // What was sent goes out before the reset.
                tokio::time::timeout(Duration::from_millis(50), answer).await.unwrap_err();
                sink.send_reset(h2::Reason::CANCEL);
                let _ = tokio::time::timeout(Duration::from_millis(50), client.ready()).await;
            });
        }
    }
}

/// Sends half of a body on a stream, then resets it.
fn break_off_http3(address: SocketAddr, head: http::Request<()>, half: &[u8]) {
    let client = Http3::connect(address, "a.example").unwrap();
    client.block_on(async {
        let (mut send, mut receive) = client.requests().send_request(head).await.unwrap().split();
        send.send_data(Bytes::copy_from_slice(half)).await.unwrap();
        // What was sent goes out before the reset.
        tokio::time::timeout(Duration::from_millis(50), receive.recv_response()).await.unwrap_err();
        send.stop_stream(h3::error::Code::H3_REQUEST_CANCELLED);
        let _ = tokio::time::timeout(Duration::from_millis(50), receive.recv_response()).await;
    });
}

fn http2(address: SocketAddr, request: Request<'_>, in_frames: bool) -> Option<Response> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answered = async { tokio::time::timeout(PATIENCE, over_http2(address, request, in_frames)).await };
    runtime.block_on(answered).ok()?
}

fn http3(address: SocketAddr, request: Request<'_>, in_frames: bool) -> Option<Response> {
    let pieces = pieces(request.body, in_frames).map(Bytes::copy_from_slice).collect();
    Http3::connect(address, "a.example").ok()?.ask_in_pieces(head(request, in_frames)?, pieces)
}

/// The head of a request in frames, with its length if it comes in one.
fn head(request: Request<'_>, in_frames: bool) -> Option<http::Request<()>> {
    let Request { host, target, content_type, coding, body } = request;
    let mut head = http::Request::post(format!("https://{host}{target}"))
        .header("content-type", content_type)
        .header("accept-encoding", "gzip");
    if let Some(coding) = coding {
        head = head.header("content-encoding", coding);
    }
    if !in_frames {
        head = head.header("content-length", body.len());
    }
    head.body(()).ok()
}

/// What of a body goes into each frame.
fn pieces(body: &[u8], in_frames: bool) -> std::slice::Chunks<'_, u8> {
    body.chunks(if in_frames { 1001.max(body.len() / 50) } else { body.len().max(1) })
}

/// A connection that speaks HTTP/2.
pub async fn connect_http2(address: SocketAddr) -> Option<h2::client::SendRequest<Bytes>> {
    let mut config = ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let tcp = tokio::net::TcpStream::connect(address).await.ok()?;
    tcp.set_nodelay(true).ok()?;
    let name = ServerName::try_from("a.example").ok()?;
    let tls = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, tcp).await.ok()?;
    let (client, connection) = h2::client::handshake(tls).await.ok()?;
    tokio::spawn(connection);
    client.ready().await.ok()
}

async fn over_http2(address: SocketAddr, request: Request<'_>, in_frames: bool) -> Option<Response> {
    let mut client = connect_http2(address).await?;
    let body = request.body;
    let (response, mut sink) =
        client.send_request(head(request, in_frames)?, body.is_empty() && !in_frames).ok()?;
    let sent = async {
        for piece in pieces(body, in_frames) {
            let mut piece = Bytes::copy_from_slice(piece);
            while !piece.is_empty() {
                sink.reserve_capacity(piece.len());
                let room = std::future::poll_fn(|cx| sink.poll_capacity(cx)).await?.ok()?;
                sink.send_data(piece.split_to(room.min(piece.len())), false).ok()?;
            }
        }
        match in_frames {
            true => sink
                .send_trailers([("x-trailer".parse().ok()?, "1".parse().ok()?)].into_iter().collect())
                .ok()?,
            false if !body.is_empty() => sink.send_data(Bytes::new(), true).ok()?,
            false => {}
        }
        Some(())
    };
    // A refusal may come while the body is on its way.
    let answered = async {
        let response = response.await.ok()?;
        let (head, mut stream) = response.into_parts();
        let mut read = Vec::new();
        while let Some(piece) = stream.data().await {
            let piece = piece.ok()?;
            stream.flow_control().release_capacity(piece.len()).ok()?;
            read.extend_from_slice(&piece);
        }
        let fields = head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        Some(Response { status: head.status.as_u16(), headers: fields.collect(), body: read })
    };
    tokio::pin!(answered);
    tokio::select! {
        answer = &mut answered => answer,
        _ = sent => answered.await,
    }
}
