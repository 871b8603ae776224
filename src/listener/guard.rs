//! Deadlines of HTTP/1 heads: so long idle, so long from the first byte to the last.
//!
//! The handler below us times each read, so a client that drips a byte now and then holds its
//! connection for ever. Here the whole head is timed, from outside.

use std::sync::Arc;

use async_trait::async_trait;
use pingora::apps::{HttpServerApp, HttpServerOptions, ReusedHttpStream};
use pingora::protocols::http::ServerSession;
use pingora::protocols::http::v2::server::{H2Options, default_h2_options};
use pingora::proxy::{HttpProxy, ProxyHttp};
use pingora::server::ShutdownWatch;
use tokio::time::{Instant, sleep_until};

use super::meta::ConnectionMeta;
use crate::snapshot::SnapshotHandle;

/// Streams a client may have open on one HTTP/2 connection.
const MAX_HTTP2_STREAMS: u32 = 128;
/// HTTP/2 resets a client may have pending before it is sent away (CVE-2023-44487).
const MAX_PENDING_RESETS: usize = 20;

/// The proxy with deadlines round it.
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

#[async_trait]
impl<SV> HttpServerApp for Guarded<SV>
where
    SV: ProxyHttp + Send + Sync + 'static,
    SV::CTX: Send + Sync,
{
    async fn process_new_http(
        self: &Arc<Self>,
        session: ServerSession,
        shutdown: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        let meta = session.digest().and_then(|digest| {
            let data = digest.proxy_digest.as_ref()?.user_data.as_ref()?;
            data.downcast_ref::<ConnectionMeta>().map(|meta| Arc::clone(&meta.progress))
        });
        let (Some(progress), false) = (meta, session.is_http2()) else {
            return self.proxy.process_new_http(session, shutdown).await;
        };
        let limits = self.snapshots.load().limits;
        progress.await_head();
        let idle_until = Instant::now() + limits.idle_timeout;
        let mut head_until = None;
        let request = self.proxy.process_new_http(session, shutdown);
        tokio::pin!(request);
        loop {
            let deadline = head_until.unwrap_or(idle_until);
            tokio::select! {
                biased;
                outcome = &mut request => return outcome,
                () = progress.changed() => {
                    if progress.is_head_done() {
                        break;
                    }
                    if progress.has_head_begun() && head_until.is_none() {
                        head_until = Some(Instant::now() + limits.header_deadline);
                    }
                }
                () = sleep_until(deadline) => {
                    if head_until.is_some() {
                        progress.time_out();
                    }
                    return None;
                }
            }
        }
        request.await
    }

    fn server_options(&self) -> Option<&HttpServerOptions> {
        Some(&self.options)
    }

    fn h2_options(&self) -> Option<H2Options> {
        let limits = self.snapshots.load().limits;
        let mut options = default_h2_options();
        let list = limits.header_section.0 + limits.request_line.0;
        options.max_header_list_size(u32::try_from(list).unwrap_or(u32::MAX));
        options.max_concurrent_streams(MAX_HTTP2_STREAMS);
        options.max_pending_accept_reset_streams(MAX_PENDING_RESETS);
        Some(options)
    }

    async fn http_cleanup(&self) {
        self.proxy.http_cleanup().await;
    }
}
