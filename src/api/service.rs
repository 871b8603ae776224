//! The admin port as a service; its socket is handed over like every other.

use std::net::SocketAddr;

use async_trait::async_trait;
use pingora::server::{ListenFds, ShutdownWatch};
use pingora::services::{ServiceReadyNotifier, ServiceWithDependents};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::router::{self, State};
use crate::events::Events;
use crate::events::kinds::ServiceFailed;
use crate::listener;

pub struct AdminService {
    address: SocketAddr,
    state: State,
    events: Events,
    bound: mpsc::UnboundedSender<(usize, SocketAddr)>,
    index: usize,
    /// Bound already; `None` where it is inherited.
    reserved: Option<std::net::TcpListener>,
}

impl AdminService {
    pub fn new(
        address: SocketAddr,
        reserved: Option<std::net::TcpListener>,
        state: State,
        events: Events,
        bound: mpsc::UnboundedSender<(usize, SocketAddr)>,
        index: usize,
    ) -> Self {
        Self { address, state, events, bound, index, reserved }
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
            // Only fails where nobody waits for the addresses.
            let _ = self.bound.send((self.index, address));
        }
        ready.notify_ready();
        let stop = async move {
            // A sender that is gone means the same.
            let _ = shutdown.wait_for(|stop| *stop).await;
        };
        if let Err(error) =
            axum::serve(listener, router::router(self.state.clone())).with_graceful_shutdown(stop).await
        {
            self.failed(&error);
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
