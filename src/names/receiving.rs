//! Zones that come from other name servers: their primaries are asked when that is due, and when they say so.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use dns::receive::{ReceivedZone, ZoneExchange, ZoneRequest, is_newer};
use dns::tsig::TsigKey;
use dns::{Name, Soa};
use model::{Declared, IncomingTransfer, ReceivedAuthority, Resources, Zone, ZoneId};
use store::Change;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Transfers;
use super::received::{CameRecords, changes};
use super::transfers::ReceiveWish;
use crate::clock::{Clock, rfc3339};
use crate::control::{Control, Write};
use crate::events::Events;
use crate::events::kinds::ZoneReceived;
use crate::snapshot::Snapshot;

/// How often it is looked what is due.
const TICK: Duration = Duration::from_millis(200);
/// How long each step of an exchange may take.
const STEP: Duration = Duration::from_secs(10);
/// How long all of it may take, so that a slow primary keeps no place for ever.
const LONGEST: Duration = Duration::from_mins(30);
/// Most zones that are received at once.
const MAX_AT_ONCE: usize = 16;
/// The shortest times between two questions, in seconds: after an answer, and after none.
const MIN_REFRESH: u64 = 60;
const MIN_RETRY: u64 = 30;

/// A zone that comes from others.
struct SecondaryZone {
    id: ZoneId,
    apex: Name,
    zone: Arc<Declared<Zone>>,
}

/// When a zone is asked for, in seconds since the epoch.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    next: u64,
    /// When a primary last answered, or since when none has.
    answered: u64,
    is_busy: bool,
}

/// What became of one zone.
struct Outcome {
    id: ZoneId,
    is_answered: bool,
}

/// Receives zones for as long as it is polled.
pub async fn run(control: Control, transfers: Transfers, events: Events, clock: Clock) {
    let mut schedules: HashMap<ZoneId, Schedule> = HashMap::new();
    let mut under_way: JoinSet<Outcome> = JoinSet::new();
    let (mut zones, mut seen) = (Vec::new(), 0);
    loop {
        tokio::time::sleep(TICK).await;
        let (snapshot, now) = (control.handle().load(), clock.unix().as_secs());
        if seen != snapshot.revision {
            (zones, seen) = (secondary_zones(&snapshot), snapshot.revision);
            let ids: HashSet<&ZoneId> = zones.iter().map(|zone: &SecondaryZone| &zone.id).collect();
            schedules.retain(|id, _| ids.contains(id));
        }
        while let Some(outcome) = under_way.try_join_next() {
            let Ok(Outcome { id, is_answered }) = outcome else { continue };
            let zone = snapshot.resources.zones.get(&id);
            let incoming = zone.and_then(|zone| zone.incoming.as_deref());
            if let (Some(schedule), Some(incoming)) = (schedules.get_mut(&id), incoming) {
                schedule.is_busy = false;
                schedule.answered = if is_answered { now } else { schedule.answered };
                schedule.next = now + wait(incoming, is_answered);
            }
        }
        let wishes = transfers.take_wishes();
        for zone in &zones {
            let wish = wishes.get(&zone.apex).copied();
            let schedule = schedules.entry(zone.id.clone()).or_insert(Schedule {
                next: now,
                answered: now,
                is_busy: false,
            });
            if schedule.is_busy {
                // What is wished meanwhile is wished again, so that it is not missed.
                wish.into_iter().for_each(|wish| transfers.ask_to_receive(zone.apex.clone(), wish));
                continue;
            }
            expire(&control, zone, now.saturating_sub(schedule.answered)).await;
            if under_way.len() >= MAX_AT_ONCE || schedule.next > now && wish.is_none() {
                wish.into_iter().for_each(|wish| transfers.ask_to_receive(zone.apex.clone(), wish));
                continue;
            }
            schedule.is_busy = true;
            let receiving = Receiving {
                id: zone.id.clone(),
                apex: zone.apex.clone(),
                zone: Arc::clone(&zone.zone),
                snapshot: Arc::clone(&snapshot),
                control: control.clone(),
                clock,
            };
            let (transfers, events) = (transfers.clone(), events.clone());
            under_way.spawn(async move {
                let is_answered = receiving.receive(wish == Some(ReceiveWish::Whole), &events).await;
                if is_answered {
                    transfers.checked(receiving.apex.clone(), rfc3339(clock.now()));
                }
                Outcome { id: receiving.id, is_answered }
            });
        }
    }
}

fn secondary_zones(snapshot: &Snapshot) -> Vec<SecondaryZone> {
    let zones = snapshot.resources.zones.iter().filter(|(_, zone)| zone.incoming.is_some());
    zones
        .filter_map(|(id, zone)| {
            Some(SecondaryZone {
                id: id.clone(),
                apex: Name::parse(&zone.name, None).ok()?,
                zone: Arc::clone(zone),
            })
        })
        .collect()
}

/// Seconds to the next question.
fn wait(incoming: &IncomingTransfer, is_answered: bool) -> u64 {
    let soa = incoming.received.as_ref().map(|received| &received.soa);
    match (is_answered, incoming.auto_refresh_seconds) {
        (true, 0) => u64::from(soa.map_or(0, |soa| soa.refresh)).max(MIN_REFRESH),
        (true, seconds) => u64::from(seconds).max(MIN_REFRESH),
        (false, _) => u64::from(soa.map_or(0, |soa| soa.retry)).max(MIN_RETRY),
    }
}

/// Has a zone not answered from any more if its primaries are silent for too long (RFC 1035 section 3.3.13).
async fn expire(control: &Control, zone: &SecondaryZone, silent: u64) {
    let received = zone.zone.incoming.as_deref().and_then(|incoming| incoming.received.as_ref());
    if received.is_none_or(|received| received.is_expired || silent < u64::from(received.soa.expire)) {
        return;
    }
    let id = zone.id.clone();
    let edit = move |resources: &Resources| {
        let Some(zone) = resources.zones.get(&id) else { return Ok(Vec::new()) };
        let mut zone = zone.value.clone();
        if let Some(received) = zone.incoming.as_deref_mut().and_then(|incoming| incoming.received.as_mut()) {
            received.is_expired = true;
        }
        Ok(vec![Change::PutZone { zone: Box::new(zone) }])
    };
    write(control, edit).await;
}

async fn write(
    control: &Control,
    edit: impl Fn(&Resources) -> Result<Vec<Change>, crate::control::Declined> + Send + 'static,
) -> bool {
    control.write(Write::of("primary", edit)).await.is_ok()
}

/// One zone while it is received.
struct Receiving {
    id: ZoneId,
    apex: Name,
    zone: Arc<Declared<Zone>>,
    snapshot: Arc<Snapshot>,
    control: Control,
    clock: Clock,
}

impl Receiving {
    fn incoming(&self) -> Option<&IncomingTransfer> {
        self.zone.incoming.as_deref()
    }

    fn known(&self) -> Option<&ReceivedAuthority> {
        self.incoming()?.received.as_ref()
    }

    fn now(&self) -> u32 {
        u32::try_from(self.clock.unix().as_secs()).unwrap_or(u32::MAX)
    }

    /// Asks peers until one answers; whether one did.
    async fn receive(&self, is_whole: bool, events: &Events) -> bool {
        let account = self.snapshot.resources.accounts.get(&self.zone.account);
        let partners = account.and_then(|account| account.transfers.as_deref());
        let (Some(incoming), Some(partners)) = (self.incoming(), partners) else { return false };
        for peer in incoming.peers.iter().filter_map(|id| partners.peer(id)) {
            let Some(ip) = peer.ip else { continue };
            let address = SocketAddr::new(ip, peer.port);
            let name = peer.tsig_id.as_deref().and_then(|id| partners.key(id)).map(|key| key.name.as_str());
            let served = self.snapshot.names.served.get(&self.id);
            let policy = served.and_then(|served| served.zone.primaries());
            let key = name.and_then(|name| policy?.key(name));
            let outcome = match (name, key) {
                (Some(_), None) => Err("the key of the peer cannot be read".to_owned()),
                _ => timeout(LONGEST, self.ask(address, key, peer.ixfr_enable, is_whole))
                    .await
                    .unwrap_or_else(|_| Err("the peer took too long".to_owned())),
            };
            let (serial, skipped, error) = match outcome {
                Ok(None) => return true,
                Ok(Some((serial, skipped))) => (Some(serial), skipped, None),
                Err(error) => (None, 0, Some(error)),
            };
            let is_answered = error.is_none();
            events.emit(&ZoneReceived {
                zone: self.apex.to_string(),
                peer: address.to_string(),
                serial,
                skipped,
                error,
            });
            if is_answered {
                return true;
            }
        }
        false
    }

    /// Asks one peer, and keeps what is newer: its serial, and how many records are of types that are not served here.
    async fn ask(
        &self,
        address: SocketAddr,
        key: Option<&TsigKey>,
        is_incremental: bool,
        is_whole: bool,
    ) -> Result<Option<(u32, usize)>, String> {
        let connected = timeout(STEP, TcpStream::connect(address)).await;
        let mut stream = connected
            .map_err(|_| "the peer does not accept a connection".to_owned())?
            .map_err(|error| error.to_string())?;
        let known = self.known().filter(|_| !is_whole);
        if let Some(known) = known {
            let (received, _) = self.exchange(&mut stream, ZoneRequest::Serial, key).await?;
            let ReceivedZone::Serial(soa) = received else { return Err("the peer has no serial".to_owned()) };
            if !is_newer(soa.serial, known.soa.serial) {
                if known.is_expired {
                    self.keep(known.soa.clone(), CameRecords::Same).await?;
                }
                return Ok(None);
            }
        }
        let request = match known.filter(|_| is_incremental) {
            Some(known) => ZoneRequest::Since(Box::new(known.soa.clone())),
            None => ZoneRequest::Whole,
        };
        let (received, skipped) = self.exchange(&mut stream, request, key).await?;
        let (soa, records) = match received {
            ReceivedZone::Serial(soa) => (soa, CameRecords::Same),
            ReceivedZone::Whole(soa, records) => (soa, CameRecords::Whole(records)),
            ReceivedZone::Changes(soa, changes) => (soa, CameRecords::Changes(changes)),
        };
        let serial = soa.serial;
        self.keep(soa, records).await?;
        Ok(Some((serial, skipped)))
    }

    async fn exchange(
        &self,
        stream: &mut TcpStream,
        request: ZoneRequest,
        key: Option<&TsigKey>,
    ) -> Result<(ReceivedZone, usize), String> {
        let mut id = [0; 2];
        getrandom::fill(&mut id).map_err(|error| format!("the system has no random numbers: {error}"))?;
        let begun = ZoneExchange::begin(self.apex.clone(), request, key, id, self.now());
        let (message, mut exchange) = begun.ok_or("the request does not fit into a message")?;
        let length = u16::try_from(message.len()).unwrap_or(u16::MAX).to_be_bytes();
        let sent = timeout(STEP, stream.write_all(&[&length[..], &message].concat())).await;
        sent.map_err(|_| "the peer does not read the request".to_owned())?
            .map_err(|error| error.to_string())?;
        let mut message = Vec::new();
        loop {
            let read = async {
                let length = stream.read_u16().await?;
                message.resize(usize::from(length), 0);
                stream.read_exact(&mut message).await
            };
            timeout(STEP, read)
                .await
                .map_err(|_| "the peer does not answer in time".to_owned())?
                .map_err(|error| error.to_string())?;
            if exchange.take(&message, self.now())? {
                break;
            }
        }
        exchange.end().ok_or_else(|| "the peer has no zone".to_owned())
    }

    /// Makes the records of the zone those that came, as one change with its serial.
    async fn keep(&self, soa: Soa, records: CameRecords) -> Result<(), String> {
        let (id, now) = (self.id.clone(), self.clock.now());
        let edit = move |resources: &Resources| {
            let Some(known) = resources.zones.get(&id) else { return Ok(Vec::new()) };
            let mut zone = known.value.clone();
            let Some(incoming) = zone.incoming.as_deref_mut() else { return Ok(Vec::new()) };
            incoming.received = Some(ReceivedAuthority { soa: soa.clone(), is_expired: false });
            zone.modified_on = rfc3339(now);
            let mut changes = changes(resources, &id, &records, now.into())?;
            changes.push(Change::PutZone { zone: Box::new(zone) });
            Ok(changes)
        };
        match write(&self.control, edit).await {
            true => Ok(()),
            false => Err("what came cannot be kept".to_owned()),
        }
    }
}
