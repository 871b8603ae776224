//! A connection as Pingora sees it: the stream, with what is known of it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::tls::SslDigest;
use pingora::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream,
    TimingDigest, UniqueID, UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::deadline::HeadDeadline;
use super::framer::{Framer, Wants};
use super::gathering_writer::GatheringWriter;
use super::meta::{ConnectionMeta, NO_SOCKET, Progress, Wait};
use crate::snapshot::SnapshotHandle;

/// What must have come of an HTTP/2 connection before its deadline: the preface and the header of
/// the first frame (RFC 9113 section 3.4).
const HTTP2_PREFACE_BYTES: usize = 24 + 9;

/// How long, and how much, is read from a client whose request was refused.
const LINGER: Duration = Duration::from_secs(1);
const MAX_LINGER_BYTES: usize = 4 << 20;

/// Bytes of a head that are read at once.
const READ_BYTES: usize = 4 << 10;

/// A client connection, plain or over TLS.
pub(super) struct EdgeStream<T> {
    io: GatheringWriter<T>,
    meta: ConnectionMeta,
    socket: Arc<SocketDigest>,
    proxy: Arc<ProxyDigest>,
    tls: Option<Arc<SslDigest>>,
    alpn: Option<ALPN>,
    id: UniqueIDType,
    established: std::time::SystemTime,
    protocol: Protocol,
    write_timeout: Duration,
    /// Runs while the client takes nothing.
    stall: Option<Pin<Box<Sleep>>>,
}

/// How the connection is read.
enum Protocol {
    /// Request by request, each head in time.
    Http1 { framer: Framer, deadline: HeadDeadline },
    /// So many bytes more in time.
    Preface { bytes_left: usize, timer: Pin<Box<Sleep>> },
    /// What follows has limits of its own.
    Http2,
}

impl<T: AsyncWrite> EdgeStream<T> {
    /// An HTTP/1 connection.
    pub(super) fn new(
        io: T,
        id: UniqueIDType,
        meta: ConnectionMeta,
        socket: Arc<SocketDigest>,
        now: std::time::SystemTime,
        head: HeadDeadline,
    ) -> pingora::Result<Self> {
        let proxy = meta.clone().digest()?;
        let io = GatheringWriter::new(io);
        let write_timeout = head.write_timeout();
        let protocol = Protocol::Http1 { framer: Framer::default(), deadline: head };
        Ok(Self {
            io,
            meta,
            socket,
            proxy,
            tls: None,
            alpn: None,
            id,
            established: now,
            protocol,
            write_timeout,
            stall: None,
        })
    }

    /// With what TLS agreed on. An HTTP/2 connection must send its preface before `deadline`.
    pub(super) fn over_tls(mut self, tls: SslDigest, alpn: Option<ALPN>, deadline: Instant) -> Self {
        if alpn == Some(ALPN::H2) {
            let timer = Box::pin(tokio::time::sleep_until(deadline));
            self.protocol = Protocol::Preface { bytes_left: HTTP2_PREFACE_BYTES, timer };
        }
        self.tls = Some(Arc::new(tls));
        self.alpn = alpn;
        self
    }
}

/// A connection that has no socket, for requests of our own on behalf of the client that `meta` tells of.
///
/// # Errors
/// If Pingora's digest cannot be built.
pub(crate) fn without_socket(
    io: DuplexStream,
    meta: &ConnectionMeta,
    snapshots: &SnapshotHandle,
    now: std::time::SystemTime,
) -> pingora::Result<Stream> {
    let digest = SocketDigest::from_raw_fd(NO_SOCKET);
    // The digest is new, so the cell is empty.
    let _ = digest.peer_addr.set(Some(SocketAddr::new(meta.source, 0).into()));
    let meta = ConnectionMeta { progress: Arc::new(Progress::default()), ..meta.clone() };
    let head = HeadDeadline::new(snapshots.clone(), Instant::now() + snapshots.load().limits.header_deadline);
    let stream = EdgeStream::new(io, NO_SOCKET, meta, Arc::new(digest), now, head)?;
    Ok(Box::new(stream))
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for EdgeStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = &mut *self;
        match &stream.protocol {
            Protocol::Http1 { .. } => stream.poll_http1(cx, buf),
            Protocol::Http2 => Pin::new(&mut stream.io).poll_read(cx, buf),
            Protocol::Preface { .. } => stream.poll_preface(cx, buf),
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> EdgeStream<T> {
    fn poll_preface(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.io).poll_read(cx, buf);
        if let Protocol::Preface { bytes_left, timer } = &mut self.protocol {
            *bytes_left = bytes_left.saturating_sub(buf.filled().len() - before);
            if *bytes_left == 0 {
                self.protocol = Protocol::Http2;
            } else if timer.as_mut().poll(cx).is_ready() {
                self.meta.progress.time_out();
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        outcome
    }

    fn poll_http1(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Protocol::Http1 { framer, deadline } = &mut self.protocol else { return Poll::Pending };
        let progress = &self.meta.progress;
        if progress.is_upgraded() {
            framer.let_all_pass();
        }
        loop {
            let (wants, judged) = framer.advance(progress.awaited(), || deadline.limits());
            if let Some(judged) = judged {
                progress.judged(judged);
            }
            let bad_body = |_| {
                progress.body_is_bad();
                io::Error::from(io::ErrorKind::InvalidData)
            };
            let most = match wants {
                Wants::Nothing => {
                    return Poll::Ready(
                        framer.give(buf.remaining(), |bytes| buf.put_slice(bytes)).map_err(bad_body),
                    );
                }
                // To be waited for, or it would never end: the next request wakes it.
                Wants::Rest => return Poll::Pending,
                Wants::Body(most) => {
                    let most = usize::try_from(most).unwrap_or(usize::MAX).min(buf.remaining());
                    let mut part = ReadBuf::new(buf.initialize_unfilled_to(most));
                    ready!(Pin::new(&mut self.io).poll_read(cx, &mut part))?;
                    let taken = framer.passed(part.filled()).map_err(bad_body)?;
                    buf.advance(taken);
                    return Poll::Ready(Ok(()));
                }
                Wants::Head | Wants::End => READ_BYTES,
            };
            let mut bytes = [0; READ_BYTES];
            let mut read = ReadBuf::new(bytes.get_mut(..most).unwrap_or(&mut []));
            match Pin::new(&mut self.io).poll_read(cx, &mut read) {
                Poll::Ready(outcome) => {
                    outcome?;
                    if read.filled().is_empty() {
                        return Poll::Ready(Ok(()));
                    }
                    framer.push(read.filled());
                }
                Poll::Pending if wants == Wants::Head => {
                    let wait = Wait { request: progress.requests(), head_began: framer.has_begun() };
                    if deadline.poll(wait, cx).is_ready() {
                        if wait.head_began {
                            progress.time_out();
                        }
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    return Poll::Pending;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<T> EdgeStream<T> {
    /// Ends a connection whose client takes nothing for too long.
    fn in_time<R>(&mut self, outcome: Poll<io::Result<R>>, cx: &mut Context<'_>) -> Poll<io::Result<R>> {
        if outcome.is_ready() {
            self.stall = None;
            return outcome;
        }
        let timeout = self.write_timeout;
        let stall = self.stall.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        match stall.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for EdgeStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(cx, buf);
        self.in_time(outcome, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_flush(cx);
        self.in_time(outcome, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.in_time(outcome, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[async_trait]
impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync> Shutdown for EdgeStream<T> {
    async fn shutdown(&mut self) {
        // The client may be gone already.
        let _ = self.io.shutdown().await;
        // A connection that is closed while bytes come is reset, and its last answer lost.
        if self.meta.progress.refused().is_some() || self.meta.progress.has_bad_body() {
            let io = &mut self.io;
            let _ = tokio::time::timeout(LINGER, async {
                let (mut bytes, mut left) = ([0; READ_BYTES], MAX_LINGER_BYTES);
                while left > 0
                    && let Ok(read @ 1..) = io.read(&mut bytes).await
                {
                    left = left.saturating_sub(read);
                }
            })
            .await;
        }
    }
}

impl<T> UniqueID for EdgeStream<T> {
    fn id(&self) -> UniqueIDType {
        self.id
    }
}

impl<T> Ssl for EdgeStream<T> {
    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.tls.clone()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.alpn.clone()
    }
}

impl<T> GetTimingDigest for EdgeStream<T> {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        vec![Some(TimingDigest { established_ts: self.established, ..TimingDigest::default() })]
    }
}

impl<T> GetProxyDigest for EdgeStream<T> {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        Some(Arc::clone(&self.proxy))
    }
}

impl<T> GetSocketDigest for EdgeStream<T> {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        Some(Arc::clone(&self.socket))
    }
}

impl<T> Peek for EdgeStream<T> {}

impl<T> fmt::Debug for EdgeStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EdgeStream({:?})", self.meta)
    }
}
