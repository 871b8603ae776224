//! The accept loop, as a Pingora service.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use http::HeaderValue;
use ipnet::IpNet;
use pingora::apps::{HttpServerApp, ServerApp};
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::tls::SslDigest;
use pingora::protocols::{ALPN, SocketDigest, Stream};
use pingora::server::{ListenFds, ShutdownWatch};
use pingora::services::{ServiceReadyNotifier, ServiceWithDependents};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::caps::Connections;
use super::deadline::HeadDeadline;
use super::http3::{Http3Endpoint, ResetSecret};
use super::meta::{ConnectionMeta, Progress, address_text};
use super::proxy_protocol::{self, MAX_HEADER_BYTES, Parsed};
use super::socket::{self, ReservedSockets};
use super::stream::EdgeStream;
use super::tls::TlsConfigs;
use crate::certificates::WantedNames;
use crate::clock::Clock;
use crate::conf::{Listener, ListenerProtocol, TicketSecret};
use crate::events::Events;
use crate::events::kinds::{ConnectionEnd, ConnectionEnded, ServiceFailed};
use crate::snapshot::SnapshotHandle;
use crate::watchdog::Watchdog;

/// The least time between two log lines about failed accepts.
const BETWEEN_LINES: std::time::Duration = std::time::Duration::from_secs(1);

/// One listening address.
pub struct EdgeListener<A> {
    name: String,
    /// The key under which the socket is handed over.
    key: String,
    conf: Listener,
    threads: usize,
    watchdog: Watchdog,
    shared: Arc<Shared<A>>,
    /// Told the address once it is bound.
    bound: tokio::sync::mpsc::UnboundedSender<(usize, SocketAddr)>,
    index: usize,
    /// Bound already; `None` if it is inherited.
    reserved: Option<ReservedSockets>,
    /// What serves HTTP/3, if it is spoken.
    http3: Option<Arc<Http3Endpoint<A>>>,
}

struct Shared<A> {
    app: Arc<A>,
    queries: Arc<dyn Queries>,
    protocol: ListenerProtocol,
    snapshots: SnapshotHandle,
    connections: Connections,
    events: Events,
    clock: Clock,
    tls: Option<TlsConfigs>,
    proxy_protocol_from: Vec<IpNet>,
    drain: watch::Sender<bool>,
    /// Where HTTP/3 is spoken, once it is.
    alternative: Arc<OnceLock<HeaderValue>>,
}

/// Answers queries of resolvers over TLS.
#[async_trait]
pub trait Queries: Send + Sync {
    /// Answers those of a connection until it ends.
    async fn answer(&self, stream: TlsStream<L4Stream>, client: IpAddr);
}

/// What all listeners of a process share.
#[derive(Clone)]
pub struct ListenerContext {
    pub snapshots: SnapshotHandle,
    /// Names that TLS has no certificate for.
    pub wanted: WantedNames,
    /// What nodes share for session tickets.
    pub tickets: Option<TicketSecret>,
    /// Answers what comes to listeners for queries.
    pub queries: Arc<dyn Queries>,
    pub connections: Connections,
    pub events: Events,
    pub clock: Clock,
    pub watchdog: Watchdog,
    pub threads: usize,
    /// Becomes true when the process is to stop.
    pub drain: watch::Sender<bool>,
    /// Ends connections of HTTP/3 that an earlier process left behind.
    pub resets: ResetSecret,
    pub bound: tokio::sync::mpsc::UnboundedSender<(usize, SocketAddr)>,
}

impl<A: HttpServerApp + Send + Sync + 'static> EdgeListener<A> {
    /// The service of the listener with this index.
    ///
    /// # Errors
    /// If its TLS cannot be set up.
    pub fn new(
        index: usize,
        conf: Listener,
        reserved: Option<ReservedSockets>,
        app: Arc<A>,
        context: ListenerContext,
    ) -> Result<Self, rustls::Error> {
        let tls = match conf.speaks_tls() {
            false => None,
            true => Some(TlsConfigs::new(
                conf.address,
                conf.protocol,
                context.snapshots.clone(),
                context.wanted,
                (context.tickets, context.clock),
            )?),
        };
        let alternative = Arc::new(OnceLock::new());
        let http3 = match tls.as_ref().filter(|_| conf.speaks_http3) {
            None => None,
            Some(tls) => Some(Arc::new(Http3Endpoint {
                app: Arc::clone(&app),
                tls: tls.quic()?,
                told_port: conf.http3_port,
                alternative: Arc::clone(&alternative),
                snapshots: context.snapshots.clone(),
                connections: context.connections.clone(),
                events: context.events.clone(),
                clock: context.clock,
                drain: context.drain.clone(),
                resets: context.resets,
            })),
        };
        Ok(Self {
            name: format!("listener {}", conf.address),
            // Keys go over the upgrade socket as one text, parted by spaces.
            key: format!("listener-{index}@{}", conf.address),
            threads: context.threads,
            watchdog: context.watchdog,
            bound: context.bound,
            index,
            reserved,
            http3,
            shared: Arc::new(Shared {
                app,
                queries: context.queries,
                protocol: conf.protocol,
                snapshots: context.snapshots,
                connections: context.connections,
                events: context.events,
                clock: context.clock,
                tls,
                proxy_protocol_from: conf.proxy_protocol_from.clone(),
                drain: context.drain,
                alternative,
            }),
            conf,
        })
    }
}

#[async_trait]
impl<A: HttpServerApp + Send + Sync + 'static> ServiceWithDependents for EdgeListener<A> {
    async fn start_service(
        &mut self,
        fds: Option<ListenFds>,
        mut shutdown: ShutdownWatch,
        _listeners_per_fd: usize,
        ready: ServiceReadyNotifier,
    ) {
        let (tcp, udp) = match self.reserved.take() {
            Some(ReservedSockets { tcp, udp }) => (Some(tcp), udp),
            None => (None, None),
        };
        let bound = socket::bind(&self.key, self.conf.address, tcp, fds.as_ref())
            .and_then(|bound| TcpListener::from_std(bound.listener));
        let listener = match bound {
            Ok(listener) => listener,
            Err(error) => {
                let error = format!("cannot listen on {}: {error}", self.conf.address);
                self.shared.events.emit(&ServiceFailed { service: &self.name, error });
                return;
            }
        };
        if let Ok(address) = listener.local_addr() {
            // Nobody listens if nobody asked for the addresses.
            let _ = self.bound.send((self.index, address));
            if let Some(http3) = &self.http3 {
                spawn_connection(Arc::clone(http3).run(address, udp));
            }
        }
        ready.notify_ready();
        self.watchdog.watch(&self.name);
        let mut drain = self.shared.drain.subscribe();
        let mut failed = FailedAccepts::default();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((tcp, peer)) => self.shared.accept(tcp, peer),
                    Err(error) => {
                        failed.tell(&self.shared.events, &self.name, &error);
                        // The process may be out of descriptors; other connections will free some.
                        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    }
                },
                changed = shutdown.changed() => if changed.is_err() || *shutdown.borrow() { break },
                () = until(&mut drain) => break,
            }
        }
        self.shared.drain.send_replace(true);
        self.shared.app.cleanup().await;
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn threads(&self) -> Option<usize> {
        Some(self.threads)
    }

    fn listen_addresses(&self) -> Option<Vec<String>> {
        Some(vec![self.key.clone()])
    }
}

/// Connections that could not be accepted. All are counted; at most one log line a second reports them.
#[derive(Default)]
struct FailedAccepts {
    told: Option<Instant>,
}

impl FailedAccepts {
    fn tell(&mut self, events: &Events, service: &str, error: &std::io::Error) {
        events.metrics().accepts_failed.inc();
        let now = Instant::now();
        if self.told.is_none_or(|told| now.duration_since(told) >= BETWEEN_LINES) {
            self.told = Some(now);
            let error = format!("cannot accept connections: {error}; allow more open files");
            events.emit(&ServiceFailed { service, error });
        }
    }
}

impl<A: HttpServerApp + Send + Sync + 'static> Shared<A> {
    fn accept(self: &Arc<Self>, tcp: TcpStream, peer: SocketAddr) {
        let limits = self.snapshots.load().limits;
        match self.connections.admit(peer.ip(), limits.connections, limits.connections_per_address) {
            Ok(admitted) => {
                let shared = Arc::clone(self);
                spawn_connection(async move {
                    let (source, outcome) = shared.serve(tcp, peer).await;
                    shared.end(source, outcome);
                    drop(admitted);
                });
            }
            Err(outcome) => self.end(peer.ip(), outcome),
        }
    }

    fn end(&self, client: IpAddr, outcome: ConnectionEnd) {
        self.events.emit(&ConnectionEnded { client: client.to_string(), outcome });
    }

    async fn serve(&self, tcp: TcpStream, peer: SocketAddr) -> (IpAddr, ConnectionEnd) {
        let deadline = Instant::now() + self.snapshots.load().limits.header_deadline;
        // A connection that cannot be tuned is still a connection.
        let _ = tcp.set_nodelay(true);
        let digest = SocketDigest::from_raw_fd(tcp.as_raw_fd());
        let id = tcp.as_raw_fd();
        let speaks_for_others = self.proxy_protocol_from.iter().any(|network| network.contains(&peer.ip()));
        let (source, stream) = if speaks_for_others {
            match timeout_at(deadline, read_proxy_header(tcp)).await {
                Ok(Some((source, stream))) => (source.unwrap_or(peer.ip()), stream),
                _ => return (peer.ip(), ConnectionEnd::ProxyProtocolRefused),
            }
        } else {
            (peer.ip(), L4Stream::from(tcp))
        };
        // The digest is new, so the cell is empty.
        let _ = digest.peer_addr.set(Some(SocketAddr::new(source, peer.port()).into()));
        let meta = ConnectionMeta {
            source,
            source_text: address_text(source),
            tls: self.tls.is_some(),
            is_tls_1_3: false,
            client_certificates: None,
            server_name: None,
            alternative: None,
            progress: Arc::new(Progress::default()),
        };
        let outcome = self.http(stream, id, meta, Arc::new(digest), deadline).await;
        (source, outcome)
    }

    async fn http(
        &self,
        io: L4Stream,
        id: i32,
        mut meta: ConnectionMeta,
        digest: Arc<SocketDigest>,
        deadline: Instant,
    ) -> ConnectionEnd {
        let progress = Arc::clone(&meta.progress);
        let now = self.clock.now();
        let head = HeadDeadline::new(self.snapshots.clone(), deadline);
        let stream: pingora::Result<Stream> = match &self.tls {
            None => EdgeStream::new(io, id, meta, digest, now, head).map(|stream| Box::new(stream) as Stream),
            Some(configs) => {
                let handshake = timeout_at(deadline, async {
                    let hello = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), io).await?;
                    let server_name = hello.client_hello().server_name().map(str::to_owned);
                    let mut spoken = configs.for_client(&hello.client_hello());
                    let certificates = spoken.client_certificates.take();
                    let alternative = self.alternative.get().filter(|_| spoken.speaks_http3);
                    let facts = (server_name, certificates, alternative);
                    Ok::<_, std::io::Error>((facts, hello.into_stream(spoken.config).await?))
                });
                let Ok(Ok(((server_name, certificates, alternative), tls))) = handshake.await else {
                    return ConnectionEnd::TlsFailed;
                };
                if self.protocol == ListenerProtocol::Dns {
                    self.queries.answer(tls, meta.source).await;
                    return ConnectionEnd::Finished;
                }
                meta.server_name = server_name;
                meta.alternative = alternative.cloned();
                let connection = tls.get_ref().1;
                meta.is_tls_1_3 = connection.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
                meta.client_certificates = certificates.filter(|_| connection.peer_certificates().is_some());
                let (ssl, alpn) = agreed(tls.get_ref().1);
                EdgeStream::new(tls, id, meta, digest, now, head)
                    .map(|stream| Box::new(stream.over_tls(ssl, alpn, deadline)) as Stream)
            }
        };
        let Ok(stream) = stream else { return ConnectionEnd::NoRequest };
        let shutdown: ShutdownWatch = self.drain.subscribe();
        let mut next = Some(stream);
        while let Some(stream) = next.take() {
            next = self.app.process_new(stream, &shutdown).await;
        }
        match (progress.has_timed_out(), progress.requests()) {
            (true, _) => ConnectionEnd::HeaderTimeout,
            (false, 0) => ConnectionEnd::NoRequest,
            (false, _) => ConnectionEnd::Finished,
        }
    }
}

/// What TLS agreed on, in the spelling of logs.
fn agreed(connection: &rustls::ServerConnection) -> (SslDigest, Option<ALPN>) {
    let version = match connection.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
        Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
        _ => "",
    };
    let cipher =
        connection.negotiated_cipher_suite().map_or_else(String::new, |suite| format!("{:?}", suite.suite()));
    let alpn = connection.alpn_protocol().map(|protocol| if protocol == b"h2" { ALPN::H2 } else { ALPN::H1 });
    (SslDigest::new(cipher, version.to_owned(), None, None, Vec::new()), alpn)
}

/// The source a PROXY header names, and the stream after the header.
async fn read_proxy_header(mut tcp: TcpStream) -> Option<(Option<IpAddr>, L4Stream)> {
    let mut read = Vec::with_capacity(256);
    loop {
        match proxy_protocol::parse(&read) {
            Parsed::Header(header) => {
                let mut stream = L4Stream::from(tcp);
                if let Some(rest) = read.get(header.length..).filter(|rest| !rest.is_empty()) {
                    stream.rewind(rest);
                }
                return Some((header.source, stream));
            }
            Parsed::Refused => return None,
            Parsed::Incomplete if read.len() >= MAX_HEADER_BYTES => return None,
            Parsed::Incomplete => {
                if tcp.read_buf(&mut read).await.ok()? == 0 {
                    return None;
                }
            }
        }
    }
}

/// Ends when the process is to stop.
pub(crate) async fn until(drain: &mut watch::Receiver<bool>) {
    // A sender that is gone means the same.
    let _ = drain.wait_for(|draining| *draining).await;
}

/// Connections run on the threads of their listener.
fn spawn_connection(connection: impl Future<Output = ()> + Send + 'static) {
    tokio::runtime::Handle::current().spawn(connection);
}
