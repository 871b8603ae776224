//! The proxy as connections see it: with limits for HTTP/2, and told when a head is awaited.

use std::pin::Pin;
use std::sync::Arc;

use pingora::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream};
use pingora::protocols::http::ServerSession;
use pingora::protocols::http::v2::server::{H2Options, default_h2_options};
use pingora::proxy::{HttpProxy, ProxyHttp};
use pingora::server::ShutdownWatch;

use super::meta::ConnectionMeta;
use crate::snapshot::SnapshotHandle;

/// Streams a client may have open on one HTTP/2 connection.
const MAX_HTTP2_STREAMS: u32 = 128;
/// HTTP/2 resets a client may have pending before it is sent away (CVE-2023-44487).
const MAX_PENDING_RESETS: usize = 20;

/// The proxy with limits round it.
pub struct Guarded<SV> {
    proxy: Arc<HttpProxy<SV>>,
    snapshots: SnapshotHandle,
    options: HttpServerOptions,
}

impl<SV> Guarded<SV> {
    pub fn new(proxy: HttpProxy<SV>, snapshots: SnapshotHandle) -> Self {
        let mut options = HttpServerOptions::default();
        options.h2_idle_timeout = Some(snapshots.load().limits.idle_timeout);
        Self { proxy: Arc::new(proxy), snapshots, options }
    }
}

impl<SV> HttpServerApp for Guarded<SV>
where
    SV: ProxyHttp + Send + Sync + 'static,
    SV::CTX: Send + Sync,
{
    // Written out: as an `async fn` it would wrap the proxy's boxed future in another one.
    fn process_new_http<'s, 'd, 'f>(
        self: &'s Arc<Self>,
        session: ServerSession,
        shutdown: &'d ShutdownWatch,
    ) -> Pin<Box<dyn Future<Output = Option<ReusedHttpStream>> + Send + 'f>>
    where
        's: 'f,
        'd: 'f,
        Self: 'f,
    {
        if let Some(meta) = ConnectionMeta::of(session.digest()) {
            meta.progress.await_head();
        }
        self.proxy.process_new_http(session, shutdown)
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }

    fn h2_options(&self) -> Option<H2Options> {
        let limits = self.snapshots.load().limits;
        let mut options = default_h2_options();
        options.max_header_list_size(u32::try_from(limits.head_bytes()).unwrap_or(u32::MAX));
        options.max_concurrent_streams(MAX_HTTP2_STREAMS);
        options.max_pending_accept_reset_streams(MAX_PENDING_RESETS);
        Some(options)
    }

    fn http_cleanup<'s, 'f>(&'s self) -> Pin<Box<dyn Future<Output = ()> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        self.proxy.http_cleanup()
    }
}
