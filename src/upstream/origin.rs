//! One origin: where it is, how it does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use model::OriginProtocol;
use model::origin_url::{Host, OriginUrl};

/// Failures in a row after which an origin rests.
pub const MAX_FAILURES: u32 = 3;
/// How long a failed origin gets no requests while others do.
pub const REST: Duration = Duration::from_secs(10);
/// How long a resolved address is used before it is asked for again.
pub const ADDRESS_LIFETIME: Duration = Duration::from_secs(30);

/// How long a look-up of a name may take.
const LOOK_UP: Duration = Duration::from_secs(3);
/// Look-ups at once: each keeps a thread that the system may hold up, and others need threads too.
static LOOK_UPS: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(32);

/// What makes two origins the same across snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OriginKey {
    pub zone: String,
    /// As written in the configuration; also its label in metrics.
    pub url: String,
    pub http2: bool,
    /// PEM of certificates trusted beside the system's.
    pub ca: Option<String>,
}

#[derive(Debug)]
pub struct Origin {
    pub key: OriginKey,
    pub url: OriginUrl,
    pub protocol: OriginProtocol,
    pub(super) trusted: Option<super::peer::Trusted>,
    /// Origins whose certificates are trusted alike share connections, others do not.
    pub(super) trust_group: u64,
    in_flight: AtomicUsize,
    failures: AtomicU32,
    /// Milliseconds since the Unix epoch; 0 if it does not rest.
    rests_until: AtomicU64,
    checked_down: AtomicBool,
    /// Checks in a row that say something else.
    other_checks: AtomicU32,
    addresses: RwLock<Addresses>,
    /// Held by who looks the name up.
    look_up: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Addresses {
    known: Vec<SocketAddr>,
    resolved_at: Duration,
    next: usize,
}

impl Origin {
    /// An origin that has not been tried.
    ///
    /// # Errors
    /// One sentence if its URL or its certificates are malformed.
    pub fn new(key: OriginKey) -> Result<Arc<Self>, String> {
        let url = OriginUrl::parse(&key.url)?;
        let trusted = key.ca.as_deref().map(super::peer::Trusted::parse).transpose()?;
        let known = match &url.host {
            Host::Address(address) => vec![SocketAddr::new(*address, url.port)],
            Host::Name(_) => Vec::new(),
        };
        let mut hasher = DefaultHasher::new();
        key.ca.hash(&mut hasher);
        let trust_group = hasher.finish();
        let protocol = if key.http2 { OriginProtocol::Http2 } else { OriginProtocol::Http1 };
        Ok(Arc::new(Self {
            key,
            url,
            protocol,
            trusted,
            trust_group,
            in_flight: AtomicUsize::new(0),
            failures: AtomicU32::new(0),
            rests_until: AtomicU64::new(0),
            checked_down: AtomicBool::new(false),
            other_checks: AtomicU32::new(0),
            addresses: RwLock::new(Addresses { known, ..Addresses::default() }),
            look_up: tokio::sync::Mutex::new(()),
        }))
    }

    /// Whether it takes requests now.
    pub fn is_up(&self, now: Duration) -> bool {
        let rests = u128::from(self.rests_until.load(Ordering::Relaxed)) > now.as_millis();
        !rests && !self.checked_down.load(Ordering::Relaxed)
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Counts a request until the guard is dropped.
    pub fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Notes that it could not be reached; true if it begins to rest.
    pub fn failed(&self, now: Duration) -> bool {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures < MAX_FAILURES {
            return false;
        }
        let until = u64::try_from((now + REST).as_millis()).unwrap_or(u64::MAX);
        let before = self.rests_until.swap(until, Ordering::Relaxed);
        u128::from(before) <= now.as_millis()
    }

    /// Notes that it answered; true if it had rested.
    pub fn answered(&self) -> bool {
        if self.failures.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.failures.store(0, Ordering::Relaxed);
        self.rests_until.swap(0, Ordering::Relaxed) > 0
    }

    /// Notes the outcome of a check; true if it changes whether the origin gets requests: that takes so many in a row.
    pub fn checked(&self, up: bool, in_a_row: NonZeroU32) -> bool {
        if up != self.checked_down.load(Ordering::Relaxed) {
            self.other_checks.store(0, Ordering::Relaxed);
            return false;
        }
        if self.other_checks.fetch_add(1, Ordering::Relaxed) + 1 < in_a_row.get() {
            return false;
        }
        self.other_checks.store(0, Ordering::Relaxed);
        self.checked_down.store(!up, Ordering::Relaxed);
        true
    }

    /// The next address to connect to; a name is resolved off this thread, and not more often than
    /// every `ADDRESS_LIFETIME`.
    ///
    /// # Errors
    /// One sentence if the name does not resolve and never did.
    pub async fn address(&self, now: Duration) -> Result<SocketAddr, String> {
        let Host::Name(name) = &self.url.host else {
            return self.next_address().ok_or_else(|| "the origin has no address".to_owned());
        };
        let fresh = {
            let addresses = self.addresses.read();
            !addresses.known.is_empty() && now.saturating_sub(addresses.resolved_at) < ADDRESS_LIFETIME
        };
        if !fresh {
            // An address that worked is better than none, and one look-up serves all who wait.
            let known = !self.addresses.read().known.is_empty();
            let looked_up = match self.look_up.try_lock() {
                Ok(guard) => self.resolve(name.as_str(), now, guard).await,
                Err(_) if known => Ok(()),
                Err(_) => {
                    let waited = tokio::time::timeout(LOOK_UP, self.look_up.lock()).await;
                    waited.map(|_| ()).map_err(|_| format!("cannot resolve `{name}`: no answer in time"))
                }
            };
            looked_up.or_else(|error| if known { Ok(()) } else { Err(error) })?;
        }
        self.next_address().ok_or_else(|| format!("`{name}` has no address"))
    }

    /// Looks the name up once, for everyone.
    async fn resolve(
        &self,
        name: &str,
        now: Duration,
        _looking: tokio::sync::MutexGuard<'_, ()>,
    ) -> Result<(), String> {
        let found = match LOOK_UPS.try_acquire() {
            Ok(_permit) => {
                let found = tokio::net::lookup_host((name, self.url.port));
                tokio::time::timeout(LOOK_UP, found).await
            }
            Err(_) => return Err(format!("cannot resolve `{name}`: too many names are being looked up")),
        };
        let outcome = match found {
            Ok(Ok(found)) => {
                let found: Vec<SocketAddr> = found.collect();
                let is_empty = found.is_empty();
                if !is_empty {
                    self.addresses.write().known = found;
                }
                if is_empty { Err(format!("`{name}` has no address")) } else { Ok(()) }
            }
            Ok(Err(error)) => Err(format!("cannot resolve `{name}`: {error}")),
            Err(_) => Err(format!("cannot resolve `{name}`: no answer in time")),
        };
        self.addresses.write().resolved_at = now;
        outcome
    }

    fn next_address(&self) -> Option<SocketAddr> {
        let addresses = self.addresses.read();
        if let [only] = addresses.known.as_slice() {
            return Some(*only);
        }
        drop(addresses);
        let mut addresses = self.addresses.write();
        addresses.next = addresses.next.wrapping_add(1);
        let index = addresses.next.checked_rem(addresses.known.len())?;
        addresses.known.get(index).copied()
    }
}

/// A request on its way to an origin.
#[derive(Debug)]
pub struct InFlight(Arc<Origin>);

impl InFlight {
    pub fn origin(&self) -> &Arc<Origin> {
        &self.0
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
