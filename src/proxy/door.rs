//! The way of our own requests into the proxy: a connection that has no socket.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use pingora::apps::{HttpServerApp, ServerApp};
use pingora::protocols::Stream;
use pingora::protocols::http::client::HttpSession;
use pingora::protocols::http::v1;
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::l4::virt::{VirtualSockOpt, VirtualSocket, VirtualSocketStream};
use pingora::server::ShutdownWatch;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::listener::{self, ConnectionMeta};
use crate::snapshot::SnapshotHandle;

/// Bytes on their way in one direction.
const BUFFER_BYTES: usize = 64 << 10;

type Serve = Box<dyn Fn(Stream, ShutdownWatch) + Send + Sync>;

/// Leads into the proxy once that is built; clones lead to the same.
#[derive(Clone, Default)]
pub struct Door(Arc<OnceLock<Opened>>);

struct Opened {
    serve: Serve,
    shutdown: ShutdownWatch,
}

impl Door {
    /// Leads to `app` from now on. The first call counts.
    pub fn open<A: HttpServerApp + Send + Sync + 'static>(&self, app: &Arc<A>, shutdown: ShutdownWatch) {
        // Weak, for the app owns what owns the door.
        let app = Arc::downgrade(app);
        let serve = Box::new(move |stream, shutdown| {
            let Some(app) = app.upgrade() else { return };
            // On its own, so that a request whose asker is gone still ends as every request does.
            tokio::spawn(async move { app.process_new(stream, &shutdown).await });
        });
        // INVARIANT: a process opens its door once.
        let _ = self.0.set(Opened { serve, shutdown });
    }

    /// Becomes true when the process is to stop; `None` before the door is open.
    pub(super) fn shutdown(&self) -> Option<ShutdownWatch> {
        Some(self.0.get()?.shutdown.clone())
    }

    /// A connection to the proxy for one request, from where `meta` says. Its end ends the request.
    pub(super) fn connect(
        &self,
        meta: &ConnectionMeta,
        snapshots: &SnapshotHandle,
        now: std::time::SystemTime,
    ) -> Option<HttpSession> {
        let opened = self.0.get()?;
        let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
        let stream = listener::without_socket(theirs, meta, snapshots, now).ok()?;
        (opened.serve)(stream, opened.shutdown.clone());
        let stream = L4Stream::from(VirtualSocketStream::new(Box::new(NoSocket(ours))));
        Some(HttpSession::H1(v1::client::HttpSession::new(Box::new(stream))))
    }
}

/// Bytes to and from the proxy.
#[derive(Debug)]
struct NoSocket(DuplexStream);

impl VirtualSocket for NoSocket {
    fn set_socket_option(&self, _: VirtualSockOpt) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for NoSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for NoSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
