//! Sends NOTIFY messages to other name servers if zones change (RFC 1996), off the path of answers.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dns::notify::{is_notify_answer, notify};
use dns::tsig::TsigKey;
use model::ZoneId;
use tokio::net::UdpSocket;
use tokio::sync::Semaphore;

use super::Transfers;
use crate::clock::Clock;
use crate::events::Events;
use crate::events::kinds::ZoneNotified;
use crate::snapshot::{ServedZone, Snapshot, SnapshotHandle};

/// How often it is looked whether zones have changed.
const TICK: Duration = Duration::from_millis(200);
/// How long an answer is waited for, first; each time twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const TRIES: u32 = 5;
/// Most peers that are notified at once.
const MAX_AT_ONCE: usize = 256;

/// Tells peers for as long as it is polled.
pub async fn run(snapshots: SnapshotHandle, transfers: Transfers, events: Events, clock: Clock) {
    let mut told: HashMap<ZoneId, u32> = HashMap::new();
    let (mut seen, permits) = (0, Arc::new(Semaphore::new(MAX_AT_ONCE)));
    loop {
        tokio::time::sleep(TICK).await;
        let snapshot = snapshots.load();
        let asked = transfers.take_asked();
        if seen == snapshot.revision && asked.is_empty() {
            continue;
        }
        seen = snapshot.revision;
        let names = &snapshot.names;
        told.retain(|id, _| names.served.contains_key(id));
        for (id, served) in names.served.iter().filter(|(_, served)| served.zone.transfers().is_some()) {
            let serial = served.zone.serial();
            let is_new = told.insert(id.clone(), serial) != Some(serial);
            if !is_new && !asked.contains(served.zone.apex()) {
                continue;
            }
            for notification in notifications(&snapshot, id, served) {
                let (events, permits) = (events.clone(), Arc::clone(&permits));
                tokio::spawn(async move {
                    // INVARIANT: nobody closes it.
                    let _permit = permits.acquire_owned().await;
                    let is_answered = notification.send(clock).await;
                    let (zone, peer) = (notification.served.zone.apex(), notification.peer);
                    let (zone, peer) = (zone.to_string(), peer.to_string());
                    events.emit(&ZoneNotified { zone, peer, serial, is_answered });
                });
            }
        }
    }
}

/// A NOTIFY message to one peer.
struct Notification {
    served: Arc<ServedZone>,
    peer: SocketAddr,
    /// The key that signs it, by its name.
    key: Option<String>,
}

fn notifications(snapshot: &Snapshot, id: &ZoneId, served: &Arc<ServedZone>) -> Vec<Notification> {
    let resources = &snapshot.resources;
    let zone = resources.zones.get(id);
    let partners = zone
        .and_then(|zone| resources.accounts.get(&zone.account))
        .and_then(|account| account.transfers.as_deref());
    let (Some(outgoing), Some(partners)) = (zone.and_then(|zone| zone.outgoing.as_deref()), partners) else {
        return Vec::new();
    };
    let peers = outgoing.peers.iter().filter_map(|id| partners.peer(id));
    let notification = |peer: &model::TransferPeer| {
        let key = peer.tsig_id.as_deref().and_then(|id| partners.key(id));
        Some(Notification {
            served: Arc::clone(served),
            peer: SocketAddr::new(peer.ip?, peer.port),
            key: key.map(|key| key.name.clone()),
        })
    };
    peers.filter_map(notification).collect()
}

impl Notification {
    fn key(&self) -> Option<&TsigKey> {
        self.served.zone.transfers()?.key(self.key.as_deref()?)
    }

    /// Sends it until it is answered; whether it was.
    async fn send(&self, clock: Clock) -> bool {
        let mut id = [0; 2];
        let local: IpAddr = match self.peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let Ok(socket) = UdpSocket::bind(SocketAddr::new(local, 0)).await else { return false };
        if getrandom::fill(&mut id).is_err() || socket.connect(self.peer).await.is_err() {
            return false;
        }
        for nth in 0..TRIES {
            let now = u32::try_from(clock.unix().as_secs()).unwrap_or(u32::MAX);
            let Some(message) = notify(self.served.zone.apex(), self.key(), id, now) else { return false };
            // What cannot be sent now is sent again.
            let _ = socket.send(&message).await;
            let answered = tokio::time::timeout(FIRST_WAIT * (1 << nth), answered(&socket, id)).await;
            if answered == Ok(true) {
                return true;
            }
        }
        false
    }
}

/// Waits for the answer; `false` if the system says that nobody is there.
async fn answered(socket: &UdpSocket, id: [u8; 2]) -> bool {
    let mut buffer = [0; 512];
    loop {
        match socket.recv(&mut buffer).await {
            Ok(bytes) if is_notify_answer(buffer.get(..bytes).unwrap_or(&[]), id) => return true,
            Ok(_) => {}
            Err(_) => {
                // The peer may come back before the next try.
                tokio::time::sleep(FIRST_WAIT).await;
                return false;
            }
        }
    }
}
