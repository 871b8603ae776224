//! Connections for queries over TCP (RFC 7766), within limits.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dns::Carrier;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::NameContext;
use super::conversation::converse;

/// Connections at once, and of one client.
const MAX_CONNECTIONS: usize = 1_000;
const MAX_OF_CLIENT: usize = 50;
/// Out of descriptors: how long some are waited for.
const RETRY_ACCEPT: Duration = Duration::from_millis(20);

/// How many connections each client has.
type OfClients = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Accepts connections for as long as it is polled.
pub(super) async fn serve(listener: &TcpListener, context: &NameContext) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let of_clients = OfClients::default();
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(RETRY_ACCEPT).await;
            continue;
        };
        let client = peer.ip();
        let Some(place) = ConnectionPlace::take(&of_clients, client) else { continue };
        let context = context.clone();
        tokio::spawn(async move {
            // A connection that cannot be tuned is still a connection. How it ends is of no interest.
            let _ = stream.set_nodelay(true);
            let _ = converse(stream, client, Carrier::Tcp, &context).await;
            drop((permit, place));
        });
    }
}

/// A connection's place among those of its client.
struct ConnectionPlace {
    of_clients: OfClients,
    client: IpAddr,
}

impl ConnectionPlace {
    fn take(of_clients: &OfClients, client: IpAddr) -> Option<Self> {
        let mut counts = of_clients.lock();
        let count = counts.entry(client).or_default();
        if *count >= MAX_OF_CLIENT {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(Self { of_clients: Arc::clone(of_clients), client })
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut counts = self.of_clients.lock();
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}
