//! The admin port as a service; its socket is handed over like every other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::middleware::map_response;
use axum::response::Response;
use axum::{Extension, Router};
use http::HeaderValue;
use http::header::CONNECTION;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use pingora::server::{ListenFds, ShutdownWatch};
use pingora::services::{ServiceReadyNotifier, ServiceWithDependents};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};

use super::router::{self, Client, State};
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use crate::listener;

/// Connections at once.
const MAX_CONNECTIONS: usize = 256;
/// How long a head may take.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// How long a connection may last: past it, its next answer is the last, and has as long as a head. Whoever sends or reads too
/// slowly keeps nobody else out for longer.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(60);
/// Out of descriptors: how long some are waited for.
const RETRY_ACCEPT: Duration = Duration::from_millis(20);

pub struct AdminService {
    address: SocketAddr,
    state: State,
    events: Events,
    bound: mpsc::UnboundedSender<(usize, SocketAddr)>,
    index: usize,
    /// Bound already; `None` if it is inherited.
    reserved: Option<std::net::TcpListener>,
}

impl AdminService {
    pub fn new(
        address: SocketAddr,
        reserved: Option<std::net::TcpListener>,
        state: State,
        bound: mpsc::UnboundedSender<(usize, SocketAddr)>,
        index: usize,
    ) -> Self {
        Self { address, events: state.events.clone(), state, bound, index, reserved }
    }

    fn key(&self) -> String {
        format!("admin@{}", self.address)
    }

    fn failed(&self, error: &std::io::Error) {
        let error = format!("cannot serve the admin port {}: {error}", self.address);
        self.events.emit(&ServiceFailed { service: "admin", error });
    }
}

#[async_trait]
impl ServiceWithDependents for AdminService {
    async fn start_service(
        &mut self,
        fds: Option<ListenFds>,
        mut shutdown: ShutdownWatch,
        _: usize,
        ready: ServiceReadyNotifier,
    ) {
        let bound = listener::bind(&self.key(), self.address, self.reserved.take(), fds.as_ref())
            .and_then(|bound| TcpListener::from_std(bound.listener));
        let listener = match bound {
            Ok(listener) => listener,
            Err(error) => return self.failed(&error),
        };
        if let Ok(address) = listener.local_addr() {
            // Only fails if nobody waits for the addresses.
            let _ = self.bound.send((self.index, address));
        }
        ready.notify_ready();
        let router = router::router(self.state.clone());
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            // One past the cap waits in the backlog until another ends.
            let accepted = async {
                let permit = Arc::clone(&connections).acquire_owned().await.ok()?;
                Some((permit, listener.accept().await))
            };
            let (permit, tcp, peer) = tokio::select! {
                accepted = accepted => match accepted {
                    Some((permit, Ok((tcp, peer)))) => (permit, tcp, peer),
                    Some((_, Err(_))) => {
                        tokio::time::sleep(RETRY_ACCEPT).await;
                        continue;
                    }
                    None => return,
                },
                // A sender that is gone means the same.
                () = listener::until(&mut shutdown) => return,
            };
            let is_old = Arc::new(AtomicBool::new(false));
            let router = with_last_answers(router.clone().layer(Extension(Client(peer))), &is_old);
            let service = TowerToHyperService::new(router);
            tokio::spawn(async move {
                let mut builder = Builder::new(TokioExecutor::new());
                builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_DEADLINE);
                let connection = builder.serve_connection(TokioIo::new(tcp), service);
                tokio::pin!(connection);
                // How a connection of an operator ended is of no interest.
                tokio::select! {
                    _ = connection.as_mut() => {}
                    () = tokio::time::sleep(CONNECTION_LIFETIME) => {
                        // Its next answer says that it is the last: a request may be on its way already.
                        is_old.store(true, Ordering::Relaxed);
                        if tokio::time::timeout(HEAD_DEADLINE, connection.as_mut()).await.is_err() {
                            connection.as_mut().graceful_shutdown();
                            let _ = tokio::time::timeout(HEAD_DEADLINE, connection.as_mut()).await;
                        }
                    }
                }
                drop(permit);
            });
        }
    }

    fn name(&self) -> &str {
        "admin"
    }

    fn threads(&self) -> Option<usize> {
        Some(1)
    }

    fn listen_addresses(&self) -> Option<Vec<String>> {
        Some(vec![self.key()])
    }
}

/// Has answers say that they are the last of their connection, once it is old.
fn with_last_answers(router: Router, is_old: &Arc<AtomicBool>) -> Router {
    let is_old = Arc::clone(is_old);
    router.layer(map_response(move |mut response: Response| {
        if is_old.load(Ordering::Relaxed) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        std::future::ready(response)
    }))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn an_old_connection_is_told_before_it_is_closed() {
        let is_old = Arc::new(AtomicBool::new(false));
        let router = with_last_answers(Router::new(), &is_old);
        for expected in [None, Some("close")] {
            let request = Request::get("/").body(Body::empty()).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            let said = answer.headers().get(CONNECTION).map(|value| value.to_str().unwrap());
            assert_eq!(said, expected);
            is_old.store(true, Ordering::Relaxed);
        }
    }
}
