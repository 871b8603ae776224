//! A connection as Pingora sees it: the stream, with what is known of it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use pingora::http::ResponseHeader;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::tls::SslDigest;
use pingora::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream,
    TimingDigest, UniqueID, UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter, DuplexStream, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::deadline::HeadDeadline;
use super::meta::{ConnectionMeta, Progress};
use crate::snapshot::SnapshotHandle;

/// What must have come of an HTTP/2 connection before its deadline: the preface and the header of
/// the first frame (RFC 9113 section 3.4).
const HTTP2_PREFACE_BYTES: usize = 24 + 9;

/// Bytes gathered before they are sent, so that a small answer's head and body are one packet.
const WRITE_BUFFER_BYTES: usize = 4 << 10;

/// What stands for a descriptor where there is none.
const NO_SOCKET: UniqueIDType = -1;

/// A client connection, plain or over TLS.
pub(super) struct EdgeStream<T> {
    io: BufWriter<T>,
    meta: ConnectionMeta,
    socket: Arc<SocketDigest>,
    proxy: Arc<ProxyDigest>,
    tls: Option<Arc<SslDigest>>,
    alpn: Option<ALPN>,
    id: UniqueIDType,
    established: std::time::SystemTime,
    deadline: Deadline,
    /// What was read but did not fit, since escapes are longer than what they stand for.
    surplus: Vec<u8>,
}

/// What must come in time.
enum Deadline {
    /// HTTP/1: each head.
    Head(HeadDeadline),
    /// HTTP/2: so many bytes more; what follows has limits of its own.
    Preface {
        bytes_left: usize,
        timer: Pin<Box<Sleep>>,
    },
    None,
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
        let response = Box::new(ResponseHeader::build(200, Some(0))?);
        let proxy = Arc::new(ProxyDigest::new(response, Some(Box::new(meta.clone()))));
        let io = BufWriter::with_capacity(WRITE_BUFFER_BYTES, io);
        let deadline = Deadline::Head(head);
        Ok(Self {
            io,
            meta,
            socket,
            proxy,
            tls: None,
            alpn: None,
            id,
            established: now,
            deadline,
            surplus: Vec::new(),
        })
    }

    /// With what TLS agreed on. An HTTP/2 connection must send its preface before `deadline`.
    pub(super) fn over_tls(mut self, tls: SslDigest, alpn: Option<ALPN>, deadline: Instant) -> Self {
        if alpn == Some(ALPN::H2) {
            let timer = Box::pin(tokio::time::sleep_until(deadline));
            self.deadline = Deadline::Preface { bytes_left: HTTP2_PREFACE_BYTES, timer };
        }
        self.tls = Some(Arc::new(tls));
        self.alpn = alpn;
        self
    }
}

/// A connection that has no socket, for requests of our own on behalf of the client that `meta` tells of.
///
/// # Errors
/// Where Pingora's digest cannot be built.
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
        if !self.surplus.is_empty() {
            let taken = self.surplus.len().min(buf.remaining());
            let given: Vec<u8> = self.surplus.drain(..taken).collect();
            buf.put_slice(&given);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let outcome = Pin::new(&mut self.io).poll_read(cx, buf);
        let read = buf.filled().len() - before;
        let stream = &mut *self;
        let progress = &stream.meta.progress;
        if read > 0 {
            let came = buf.filled().get(before..).unwrap_or(&[]);
            let line =
                if matches!(stream.deadline, Deadline::Head(_)) { progress.line_bytes(came) } else { 0 };
            let escaped = escape_line(came, line);
            progress.read(came);
            if let Some(escaped) = escaped {
                buf.set_filled(before);
                let fits = escaped.len().min(buf.remaining());
                let (now, later) = escaped.split_at(fits);
                buf.put_slice(now);
                stream.surplus.extend_from_slice(later);
            }
        }
        match &mut stream.deadline {
            Deadline::Head(deadline) if outcome.is_pending() => {
                if let Some(wait) = progress.wait()
                    && deadline.poll(wait, cx).is_ready()
                {
                    if wait.head_began {
                        progress.time_out();
                    }
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            Deadline::Preface { bytes_left, timer } => {
                *bytes_left = bytes_left.saturating_sub(read);
                if *bytes_left == 0 {
                    stream.deadline = Deadline::None;
                } else if timer.as_mut().poll(cx).is_ready() {
                    progress.time_out();
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            Deadline::Head(_) | Deadline::None => {}
        }
        outcome
    }
}

/// The bytes with `"`, `<` and `>` of the request line, its first `line` bytes, escaped; `None`
/// where there are none. The parser above refuses them before any of our code hears of the request;
/// other servers take them, and attacks are full of them, so rules are to see them.
fn escape_line(bytes: &[u8], line: usize) -> Option<Vec<u8>> {
    let (line, rest) = bytes.split_at_checked(line)?;
    memchr::memchr3(b'"', b'<', b'>', line)?;
    let mut escaped = Vec::with_capacity(bytes.len() + 64);
    for &byte in line {
        match byte {
            b'"' => escaped.extend_from_slice(b"%22"),
            b'<' => escaped.extend_from_slice(b"%3C"),
            b'>' => escaped.extend_from_slice(b"%3E"),
            _ => escaped.push(byte),
        }
    }
    escaped.extend_from_slice(rest);
    Some(escaped)
}

impl<T: AsyncWrite + Unpin> AsyncWrite for EdgeStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[async_trait]
impl<T: AsyncWrite + Unpin + Send + Sync> Shutdown for EdgeStream<T> {
    async fn shutdown(&mut self) {
        // The client may be gone already.
        let _ = self.io.shutdown().await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_request_line_is_escaped() {
        let bytes = b"GET /?a=<b>\" HTTP/1.1\r\nA: <\r\n";
        let line = memchr::memchr(b'\n', bytes).unwrap();
        assert_eq!(escape_line(bytes, line).unwrap(), b"GET /?a=%3Cb%3E%22 HTTP/1.1\r\nA: <\r\n");
        assert!(escape_line(b"GET / HTTP/1.1\r\nA: <\r\n", 15).is_none());
        assert!(escape_line(b"A: <\r\n", 0).is_none());
    }
}
