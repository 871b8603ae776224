//! Queries over TCP (RFC 7766): one after another on a connection, each with its length before it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dns::answer::TCP_BYTES;
use dns::{Transport, answer};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::NameContext;
use super::counts::AnswerCounts;

/// Connections at once, and of one client.
const MAX_CONNECTIONS: usize = 1_000;
const MAX_OF_CLIENT: usize = 50;
/// How long a connection may stay without a whole query, and how long an answer may take to be read.
const IDLE: Duration = Duration::from_secs(10);
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
            // How a connection ends is of no interest.
            let _ = converse(stream, client, &context).await;
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

async fn converse(mut stream: TcpStream, client: IpAddr, context: &NameContext) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut counts = AnswerCounts::new(context.events.clone(), "tcp");
    let mut query = Vec::new();
    let mut buffer = vec![0; TCP_BYTES + 2];
    loop {
        tokio::time::timeout(IDLE, read(&mut stream, &mut query)).await??;
        let transport = Transport {
            is_stream: true,
            is_limited: false,
            cookies: &context.cookies,
            client,
            now: context.now(),
        };
        let snapshot = context.snapshots.load();
        let (length, message) = buffer.split_at_mut(2);
        let answered = answer(&snapshot.names.catalog, &query, &transport, message);
        drop(snapshot);
        if answered.bytes == 0 {
            return Ok(());
        }
        counts.count(&answered);
        // INVARIANT: a message has at most `TCP_BYTES`.
        length.copy_from_slice(&u16::try_from(answered.bytes).unwrap_or(0).to_be_bytes());
        let reply = buffer.get(..answered.bytes + 2).unwrap_or(&[]);
        tokio::time::timeout(IDLE, stream.write_all(reply)).await??;
    }
}

/// Reads the next query.
async fn read(stream: &mut TcpStream, query: &mut Vec<u8>) -> std::io::Result<()> {
    let length = stream.read_u16().await?;
    query.resize(usize::from(length), 0);
    stream.read_exact(query).await?;
    Ok(())
}
