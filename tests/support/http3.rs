//! A client of HTTP/3, and one of bare streams for what no client sends.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3_quinn::OpenStreams;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ApplicationClose, ConnectionError, Endpoint, ReadToEndError, TransportConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::{PATIENCE, Response};

/// A connection that speaks HTTP/3.
pub struct Http3 {
    runtime: Runtime,
    pub quic: quinn::Connection,
    requests: SendRequest<OpenStreams, Bytes>,
}

impl Http3 {
    /// Connects, and asks for a name.
    ///
    /// # Errors
    /// Why there is no connection.
    pub fn connect(address: SocketAddr, name: &str) -> Result<Self, ConnectionError> {
        let runtime = runtime();
        let quic = runtime.block_on(connect(address, name))?;
        let (mut driver, requests) =
            runtime.block_on(h3::client::new(h3_quinn::Connection::new(quic.clone()))).unwrap();
        runtime.spawn(async move { std::future::poll_fn(|cx| driver.poll_close(cx)).await });
        Ok(Self { runtime, quic, requests })
    }

    /// A request and its answer; `None` if it has none, or not a whole one.
    pub fn ask(&mut self, head: http::Request<()>, body: &[u8]) -> Option<Response> {
        let body = Bytes::copy_from_slice(body);
        self.ask_in_pieces(head, (!body.is_empty()).then_some(body).into_iter().collect())
    }

    /// A request whose body comes in pieces.
    pub fn ask_in_pieces(&mut self, head: http::Request<()>, body: Vec<Bytes>) -> Option<Response> {
        let requests = self.requests.clone();
        let asked = async { tokio::time::timeout(PATIENCE, ask(requests, head, body)).await };
        self.runtime.block_on(asked).expect("an answer in time")
    }

    /// As many requests at once.
    pub fn ask_at_once(&mut self, heads: Vec<http::Request<()>>) -> Vec<Option<Response>> {
        let tasks: Vec<_> = heads.into_iter().map(|head| self.spawn(head)).collect();
        self.runtime.block_on(async {
            let mut answers = Vec::new();
            for task in tasks {
                answers.push(tokio::time::timeout(PATIENCE, task).await.expect("an answer in time").unwrap());
            }
            answers
        })
    }

    /// A GET of a host.
    pub fn get(&mut self, host: &str, target: &str) -> Option<Response> {
        self.ask(get(host, target), b"")
    }

    /// Sends a request while other things happen.
    pub fn spawn(&self, head: http::Request<()>) -> JoinHandle<Option<Response>> {
        self.runtime.spawn(ask(self.requests.clone(), head, Vec::new()))
    }

    /// Runs what needs the connection's runtime.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// A clone of what sends requests, for what [`Http3::block_on`] runs.
    pub fn requests(&self) -> SendRequest<OpenStreams, Bytes> {
        self.requests.clone()
    }
}

/// The head of a GET.
pub fn get(host: &str, target: &str) -> http::Request<()> {
    http::Request::builder().uri(format!("https://{host}{target}")).body(()).unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A connection of QUIC that offers HTTP/3.
///
/// # Errors
/// Why there is none.
async fn connect(address: SocketAddr, name: &str) -> Result<quinn::Connection, ConnectionError> {
    connect_with(address, name, TransportConfig::default()).await
}

async fn connect_with(
    address: SocketAddr,
    name: &str,
    transport: TransportConfig,
) -> Result<quinn::Connection, ConnectionError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    endpoint.connect_with(config, address, name).unwrap().await
}

/// Sends a request and reads its answer; `None` if there is none, or not a whole one.
async fn ask(
    mut requests: SendRequest<OpenStreams, Bytes>,
    head: http::Request<()>,
    body: Vec<Bytes>,
) -> Option<Response> {
    let (mut send, mut receive) = requests.send_request(head).await.ok()?.split();
    let sent = async {
        for piece in body {
            send.send_data(piece).await.ok()?;
        }
        send.finish().await.ok()
    };
    let answered = async {
        let mut head = receive.recv_response().await.ok()?;
        while head.status().is_informational() {
            head = receive.recv_response().await.ok()?;
        }
        let mut body = Vec::new();
        while let Some(mut piece) = receive.recv_data().await.ok()? {
            body.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
        }
        let fields = head.headers().iter();
        let fields = fields
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        Some(Response { status: head.status().as_u16(), headers: fields.collect(), body })
    };
    tokio::pin!(answered);
    // A refusal may come while the body is on its way.
    tokio::select! {
        answer = &mut answered => answer,
        _ = sent => answered.await,
    }
}

/// A connection whose streams are written by hand.
pub struct BareHttp3 {
    runtime: Runtime,
    pub quic: quinn::Connection,
}

impl BareHttp3 {
    pub fn connect(address: SocketAddr, name: &str) -> Self {
        let runtime = runtime();
        let quic = runtime.block_on(connect(address, name)).unwrap();
        Self { runtime, quic }
    }

    /// One that lets the server open no stream.
    pub fn connect_without_streams(address: SocketAddr, name: &str) -> Self {
        let runtime = runtime();
        let mut transport = TransportConfig::default();
        transport.max_concurrent_uni_streams(0_u32.into());
        let quic = runtime.block_on(connect_with(address, name, transport)).unwrap();
        Self { runtime, quic }
    }

    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await }).expect("an end in time")
    }

    /// Sends a stream in the client's direction alone; it stays open.
    pub fn send_alone(&self, bytes: &[u8]) -> quinn::SendStream {
        self.block_on(async {
            let mut stream = self.quic.open_uni().await.unwrap();
            // The connection may have ended for what was sent before.
            let _ = stream.write_all(bytes).await;
            stream
        })
    }

    /// Sends a request's stream to its end; what comes back, or the code that it is reset with.
    pub fn exchange(&self, bytes: &[u8]) -> Result<Vec<u8>, ReadToEndError> {
        self.block_on(async {
            let (mut send, mut receive) = self.quic.open_bi().await.unwrap();
            // A refusal may stop it.
            let _ = send.write_all(bytes).await;
            let _ = send.finish();
            receive.read_to_end(1 << 20).await
        })
    }

    /// The code that the server ends the connection with.
    pub fn closed_with(&self) -> u64 {
        match self.block_on(self.quic.closed()) {
            ConnectionError::ApplicationClosed(ApplicationClose { error_code, .. }) => {
                error_code.into_inner()
            }
            other => panic!("{other}"),
        }
    }
}

/// A field section, each field written out.
pub fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for (name, value) in fields {
        for (mark, bits, text) in [(0x20, 3, name), (0x00, 7, value)] {
            let most = (1_usize << bits) - 1;
            if text.len() < most {
                section.push(mark | u8::try_from(text.len()).unwrap());
            } else {
                section.push(mark | u8::try_from(most).unwrap());
                let mut rest = text.len() - most;
                while rest >= 128 {
                    section.push(u8::try_from(rest & 127).unwrap() | 128);
                    rest >>= 7;
                }
                section.push(u8::try_from(rest).unwrap());
            }
            section.extend(text.as_bytes());
        }
    }
    section
}

/// A frame of a kind below 64.
pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap() | 0x8000_0000;
    [&[kind][..], &length.to_be_bytes(), payload].concat()
}

/// The certificate is not what is tested.
#[derive(Debug)]
pub struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
