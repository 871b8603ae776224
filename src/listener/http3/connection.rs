//! One connection: its streams, each request in a task of its own, and its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use pingora::apps::HttpServerApp;
use pingora::protocols::SocketDigest;
use pingora::protocols::http::ServerSession;
use pingora::protocols::tls::SslDigest;
use pingora::server::ShutdownWatch;
use quinn::crypto::rustls::HandshakeData;
use quinn::{ConnectionError, RecvStream, SendStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::endpoint::Http3Endpoint;
use super::request_stream::{BodyFault, HeadOutcome, RequestStream};
use super::response_stream::ResponseStream;
use super::session::{Http3Session, SessionFacts};
use super::streams::{self, ClientStreams};
use super::{MAX_REQUESTS, code};
use crate::admission::Refused;
use crate::events::kinds::ConnectionEnd;
use crate::listener::meta::{ConnectionMeta, NO_SOCKET, Progress, address_text};
use crate::listener::service::until;
use crate::snapshot::SnapshotHandle;
use http3::Http3Code;

/// The last stream that a client can open for a request; its number says that all before it are answered.
const LAST_STREAM: u64 = (1 << 62) - 4;
/// The minimum time between the two GOAWAY frames. Streams that a client opens before it reads the first one are accepted.
const MIN_NOTICE: Duration = Duration::from_millis(50);

pub(super) struct Connection<A> {
    shared: Arc<Shared<A>>,
    drain: watch::Receiver<bool>,
}

/// What the requests of a connection share.
struct Shared<A> {
    app: Arc<A>,
    snapshots: SnapshotHandle,
    quic: quinn::Connection,
    facts: SessionFacts,
    requests: Arc<Requests>,
    has_timed_out: AtomicBool,
    shutdown: ShutdownWatch,
}

/// The requests of a connection that are under way, until their answers have arrived.
#[derive(Debug)]
struct Requests {
    places: Arc<Semaphore>,
    open: AtomicUsize,
    begun: AtomicUsize,
    changed: Notify,
}

/// One of them.
struct OpenRequest {
    requests: Arc<Requests>,
    _place: OwnedSemaphorePermit,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if self.requests.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.requests.changed.notify_one();
        }
    }
}

impl Requests {
    fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MAX_REQUESTS as usize)),
            open: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            changed: Notify::new(),
        }
    }

    /// The next stream, once there is a place for its request. A client that takes its requests back can open as many
    /// again at once, but the work for them lasts a little longer.
    async fn next(
        self: &Arc<Self>,
        quic: &quinn::Connection,
    ) -> Result<(OpenRequest, SendStream, RecvStream), ConnectionError> {
        // INVARIANT: nobody closes the semaphore.
        let place =
            Arc::clone(&self.places).acquire_owned().await.map_err(|_| ConnectionError::LocallyClosed)?;
        let (send, recv) = quic.accept_bi().await?;
        self.open.fetch_add(1, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
        Ok((OpenRequest { requests: Arc::clone(self), _place: place }, send, recv))
    }

    /// Ends once none is under way.
    async fn none(&self) {
        while self.open.load(Ordering::Relaxed) > 0 {
            self.changed.notified().await;
        }
    }
}

impl<A: HttpServerApp + Send + Sync + 'static> Connection<A> {
    pub(super) fn new(endpoint: &Http3Endpoint<A>, quic: quinn::Connection, port: u16) -> Self {
        let facts = facts(&quic, port, endpoint);
        let shared = Shared {
            app: Arc::clone(&endpoint.app),
            snapshots: endpoint.snapshots.clone(),
            quic,
            facts,
            requests: Arc::new(Requests::new()),
            has_timed_out: AtomicBool::new(false),
            shutdown: endpoint.drain.subscribe(),
        };
        Self { shared: Arc::new(shared), drain: endpoint.drain.subscribe() }
    }

    /// Serves the connection to its end.
    pub(super) async fn run(mut self) -> ConnectionEnd {
        let quic = self.shared.quic.clone();
        let end = self.take_streams().await;
        quic.close(code(end), b"");
        let has_timed_out = self.shared.has_timed_out.load(Ordering::Relaxed);
        match (has_timed_out, self.shared.requests.begun.load(Ordering::Relaxed)) {
            (true, _) => ConnectionEnd::HeaderTimeout,
            (false, 0) => ConnectionEnd::NoRequest,
            (false, _) => ConnectionEnd::Finished,
        }
    }

    /// Takes streams until the client is gone, the connection has been idle for too long, or the process stops.
    async fn take_streams(&mut self) -> Http3Code {
        let shared = Arc::clone(&self.shared);
        let (quic, requests) = (&shared.quic, &shared.requests);
        let limits = shared.limits();
        // As long as it is held, it is open: a client must not see its end (RFC 9114 section 6.2.1).
        let mut control = match timeout(limits.header_deadline, open_control(quic, limits.head_bytes)).await {
            Ok(Some(control)) => control,
            Ok(None) => return Http3Code::NoError,
            // It must let us open one, and take what is short (section 6.2).
            Err(_) => return Http3Code::StreamCreationError,
        };
        let client_streams = Arc::new(ClientStreams::default());
        let mut last = 0;
        let idle = idle(requests, limits.idle_timeout);
        tokio::pin!(idle);
        loop {
            tokio::select! {
                stream = quic.accept_uni() => match stream {
                    Ok(stream) => {
                        let judged = streams::judge(quic.clone(), stream, Arc::clone(&client_streams));
                        tokio::spawn(judged);
                    }
                    Err(_) => return Http3Code::NoError,
                },
                next = requests.next(quic) => match next {
                    Ok((begun, send, recv)) => {
                        last = u64::from(send.id());
                        shared.begin(begun, send, recv);
                        // Nothing but a request keeps a connection.
                        idle.set(self::idle(requests, limits.idle_timeout));
                    }
                    Err(_) => return Http3Code::NoError,
                },
                () = &mut idle => break,
                () = until(&mut self.drain) => break,
            }
        }
        self.leave(&mut control, last, limits.write_timeout).await;
        Http3Code::NoError
    }

    /// Tells the client to open no more streams, answers those that it has opened, and waits until the answers have
    /// arrived (RFC 9114 section 5.2).
    async fn leave(&self, control: &mut SendStream, mut last: u64, write_timeout: Duration) {
        let (quic, requests) = (&self.shared.quic, &self.shared.requests);
        // The client may be gone, or may not read.
        let _ = timeout(write_timeout, control.write_all(&http3::goaway(LAST_STREAM))).await;
        let notice = sleep((quic.rtt() * 3).max(MIN_NOTICE));
        tokio::pin!(notice);
        loop {
            tokio::select! {
                next = requests.next(quic) => match next {
                    Ok((begun, send, recv)) => {
                        last = u64::from(send.id());
                        self.shared.begin(begun, send, recv);
                    }
                    Err(_) => return,
                },
                () = &mut notice => break,
            }
        }
        let _ = timeout(write_timeout, control.write_all(&http3::goaway(last + 4))).await;
        loop {
            tokio::select! {
                stream = quic.accept_bi() => match stream {
                    Ok((send, recv)) => reject(send, recv),
                    Err(_) => return,
                },
                () = requests.none() => return,
            }
        }
    }
}

/// Opens our control stream; `None` if the connection has ended.
async fn open_control(quic: &quinn::Connection, head_bytes: usize) -> Option<SendStream> {
    let mut control = quic.open_uni().await.ok()?;
    control.write_all(&http3::open_control(head_bytes)).await.ok()?;
    Some(control)
}

/// Ends when no request has been under way for so long.
async fn idle(requests: &Requests, limit: Duration) {
    requests.none().await;
    sleep(limit).await;
}

/// Sends a request back unread, so that the client may send it again elsewhere.
fn reject(mut send: SendStream, mut recv: RecvStream) {
    // Both fail if the client has taken it back.
    let _ = send.reset(code(Http3Code::RequestRejected));
    let _ = recv.stop(code(Http3Code::RequestRejected));
}

/// The limits of the moment, so that a connection keeps no snapshot.
#[derive(Clone, Copy)]
struct StreamLimits {
    head_bytes: usize,
    header_deadline: Duration,
    idle_timeout: Duration,
    write_timeout: Duration,
}

impl<A: HttpServerApp + Send + Sync + 'static> Shared<A> {
    fn limits(&self) -> StreamLimits {
        let limits = &self.snapshots.load().limits;
        StreamLimits {
            head_bytes: limits.head_bytes(),
            header_deadline: limits.header_deadline,
            idle_timeout: limits.idle_timeout,
            write_timeout: limits.write_timeout,
        }
    }

    fn begin(self: &Arc<Self>, begun: OpenRequest, send: SendStream, recv: RecvStream) {
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            shared.serve(send, recv).await;
            drop(begun);
        });
    }

    async fn serve(&self, send: SendStream, recv: RecvStream) {
        let arrived = send.stopped();
        let mut response = ResponseStream::new(send);
        let limits = self.limits();
        let mut body = RequestStream::new(recv, limits.head_bytes);
        // In time, whatever the client sends meanwhile.
        let mut head = match timeout(limits.header_deadline, body.head(limits.head_bytes)).await {
            Ok(HeadOutcome::Arrived(head)) => head,
            Ok(HeadOutcome::Gone) => return,
            Ok(HeadOutcome::StreamError(error)) => return response.reset(error),
            Ok(HeadOutcome::ConnectionError(error)) => return self.quic.close(code(error), b""),
            Err(_) => {
                self.has_timed_out.store(true, Ordering::Relaxed);
                response.reset(Http3Code::RequestIncomplete);
                // As over TCP: half a head now and then keeps no connection.
                if self.requests.open.load(Ordering::Relaxed) == 1 {
                    self.quic.close(code(Http3Code::RequestIncomplete), b"");
                }
                return;
            }
        };
        // HTTP/2 says with the head whether there is a body; here the end of the stream says it, a moment later. One who
        // sends neither in time is taken to send a body.
        if !head.announces_body() {
            match timeout(limits.header_deadline, body.look_ahead()).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(BodyFault::Length)) => head.refused = Some(Refused::BadContentLength),
                Ok(Err(BodyFault::Frames(error))) => return self.quic.close(code(error), b""),
                Ok(Err(BodyFault::Gone(_))) => return,
            }
        }
        let session = Http3Session::new(*head, body, response, &self.facts, self.quic.clone());
        let session = ServerSession::new_custom(Box::new(session));
        Box::pin(self.app.process_new_http(session, &self.shutdown)).await;
        // The answer may be under way when the proxy is done with it.
        let _ = timeout(limits.write_timeout, arrived).await;
    }
}

/// What the requests of a connection have in common.
fn facts<A>(quic: &quinn::Connection, port: u16, endpoint: &Http3Endpoint<A>) -> SessionFacts {
    let client = quic.remote_address();
    let handshake = quic.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    let server_name = handshake.and_then(|data| data.server_name);
    let meta = ConnectionMeta {
        source: client.ip(),
        source_text: address_text(client.ip()),
        tls: true,
        is_tls_1_3: true,
        client_certificates: None,
        server_name,
        alternative: endpoint.alternative.get().cloned(),
        progress: Arc::new(Progress::default()),
    };
    let socket = SocketDigest::from_raw_fd(NO_SOCKET);
    // The digest is new, so the cells are empty.
    let _ = socket.peer_addr.set(Some(client.into()));
    let local = quic.local_ip().map(|ip| SocketAddr::new(ip, port));
    let _ = socket.local_addr.set(local.map(Into::into));
    let tls = SslDigest::new(String::new(), "TLSv1.3".to_owned(), None, None, Vec::new());
    SessionFacts {
        meta,
        socket: Arc::new(socket),
        tls: Arc::new(tls),
        established: endpoint.clock.now(),
        clock: endpoint.clock,
    }
}
