//! Accepts QUIC connections, and lets no flood of handshakes grow.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::num::NonZeroU16;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::HeaderValue;
use pingora::apps::HttpServerApp;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, IdleTimeout, Incoming, ServerConfig, TokioRuntime, TransportConfig, VarInt};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use super::connection::Connection;
use super::reset_secret::ResetSecret;
use super::{MAX_CLIENT_STREAMS, MAX_REQUESTS, code};
use crate::clock::Clock;
use crate::events::Events;
use crate::events::kinds::{ConnectionEnd, ConnectionEnded, ServiceFailed};
use crate::listener::caps::{Admitted, Connections};
use crate::listener::service::until;
use crate::snapshot::SnapshotHandle;
use http3::Http3Code;

/// Handshakes at once. From half of them on, a client must show first that its address is its own (RFC 9000 section 8.1.2).
const MAX_HANDSHAKES: usize = 1_024;
/// What a client may send ahead of who reads it, and what is kept of answers that it has not confirmed, in bytes: of one
/// stream, of one connection.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// How long clients may remember that HTTP/3 is spoken.
const ALTERNATIVE_SECONDS: u32 = 86_400;
/// Between packets that a client must confirm, and how long it may confirm none before it is taken to be gone.
const BETWEEN_PINGS: Duration = Duration::from_secs(15);
const GONE_MILLISECONDS: u32 = 45_000;
/// Between attempts to have a port that the process before this one still reads.
const BETWEEN_BINDS: Duration = Duration::from_millis(100);

/// What serves the QUIC connections of one listener.
pub(in crate::listener) struct Http3Endpoint<A> {
    pub(in crate::listener) app: Arc<A>,
    pub(in crate::listener) tls: Arc<rustls::ServerConfig>,
    /// The port in Alt-Svc, if it is not the bound port.
    pub(in crate::listener) told_port: Option<NonZeroU16>,
    /// Set once the port is read.
    pub(in crate::listener) alternative: Arc<OnceLock<HeaderValue>>,
    pub(in crate::listener) snapshots: SnapshotHandle,
    pub(in crate::listener) connections: Connections,
    pub(in crate::listener) events: Events,
    pub(in crate::listener) clock: Clock,
    pub(in crate::listener) drain: watch::Sender<bool>,
    pub(in crate::listener) resets: ResetSecret,
}

/// Binds the UDP port of a listener.
///
/// # Errors
/// If it cannot be bound.
pub(in crate::listener) fn reserve(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(UdpSocket::from(socket))
}

impl<A: HttpServerApp + Send + Sync + 'static> Http3Endpoint<A> {
    /// Serves until the process is to stop and the last connection has ended. Without a socket, waits until the process
    /// before this one has given up its own: a connection cannot be handed over.
    pub(in crate::listener) async fn run(self: Arc<Self>, address: SocketAddr, socket: Option<UdpSocket>) {
        let mut drain = self.drain.subscribe();
        let socket = match socket {
            Some(socket) => Some(socket),
            None => tokio::select! {
                socket = bound(address) => Some(socket),
                () = until(&mut drain) => None,
            },
        };
        let Some(socket) = socket else { return };
        let endpoint = match Endpoint::new(self.resets.endpoint(), None, socket, Arc::new(TokioRuntime)) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.tell_failure(address, &error),
        };
        let config = match QuicServerConfig::try_from(Arc::clone(&self.tls)) {
            Ok(config) => server_config(config),
            Err(error) => return self.tell_failure(address, &error),
        };
        endpoint.set_server_config(Some(config));
        let told_port = self.told_port.map_or(address.port(), NonZeroU16::get);
        if let Ok(value) = HeaderValue::try_from(format!("h3=\":{told_port}\"; ma={ALTERNATIVE_SECONDS}")) {
            self.alternative.get_or_init(|| value);
        }
        let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
        loop {
            tokio::select! {
                incoming = endpoint.accept() => match incoming {
                    Some(incoming) => self.begin(incoming, address.port(), &handshakes),
                    None => return self.tell_failure(address, &"its socket is gone"),
                },
                () = until(&mut drain) => break,
            }
        }
        // A client that is refused comes by TCP at once, to the process behind this one.
        loop {
            tokio::select! {
                incoming = endpoint.accept() => match incoming {
                    Some(incoming) => incoming.refuse(),
                    None => return,
                },
                () = endpoint.wait_idle() => return,
            }
        }
    }

    fn tell_failure(&self, address: SocketAddr, error: &dyn std::fmt::Display) {
        let error = format!("cannot serve HTTP/3 on {address}: {error}");
        self.events.emit(&ServiceFailed { service: "http3", error });
    }

    /// Begins a handshake, if it is not one too many.
    fn begin(self: &Arc<Self>, incoming: Incoming, port: u16, handshakes: &Arc<Semaphore>) {
        let Ok(permit) = Arc::clone(handshakes).try_acquire_owned() else { return incoming.ignore() };
        let is_busy = handshakes.available_permits() < MAX_HANDSHAKES / 2;
        if is_busy && !incoming.remote_address_validated() {
            // Fails if the client was asked already, and then it is validated.
            let _ = incoming.retry();
            return;
        }
        let endpoint = Arc::clone(self);
        tokio::spawn(async move { endpoint.serve(incoming, port, permit).await });
    }

    async fn serve(&self, incoming: Incoming, port: u16, permit: OwnedSemaphorePermit) {
        let client = incoming.remote_address().ip();
        let deadline = self.snapshots.load().limits.header_deadline;
        let outcome = match timeout(deadline, async { incoming.accept()?.await }).await {
            Ok(Ok(quic)) => {
                drop(permit);
                // Not earlier: until here the address may be anybody's.
                match self.admit(client) {
                    Ok(_admitted) => Connection::new(self, quic, port).run().await,
                    Err(outcome) => {
                        quic.close(code(Http3Code::ExcessiveLoad), b"");
                        outcome
                    }
                }
            }
            Ok(Err(_)) | Err(_) => ConnectionEnd::TlsFailed,
        };
        self.events.emit(&ConnectionEnded { client: client.to_string(), outcome });
    }

    fn admit(&self, client: IpAddr) -> Result<Admitted, ConnectionEnd> {
        let limits = &self.snapshots.load().limits;
        self.connections.admit(client, limits.connections, limits.connections_per_address)
    }
}

/// The port, as soon as it is free.
async fn bound(address: SocketAddr) -> UdpSocket {
    loop {
        if let Ok(socket) = reserve(address) {
            return socket;
        }
        tokio::time::sleep(BETWEEN_BINDS).await;
    }
}

fn server_config(tls: QuicServerConfig) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.migration(false).transport_config(Arc::new(transport()));
    config
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(MAX_REQUESTS))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_CLIENT_STREAMS))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW_BYTES))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW_BYTES))
        .send_window(u64::from(CONNECTION_WINDOW_BYTES))
        .datagram_receive_buffer_size(None)
        // An origin may be silent for longer while a client waits: its connection lasts as long as it confirms packets.
        .keep_alive_interval(Some(BETWEEN_PINGS))
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(GONE_MILLISECONDS))));
    transport
}
