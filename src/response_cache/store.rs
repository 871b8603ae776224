//! The kept responses of all zones, the least used of which go first.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lru::LruCache;
use parking_lot::Mutex;
use pingora::Result;
use pingora::cache::CacheMeta;
use pingora::cache::key::{CacheHashKey, CacheKey, HashBinary};
use pingora::cache::lock::{CacheKeyLockImpl, CacheLock};
use pingora::cache::storage::{HitHandler, MissHandler, PurgeOutcome, PurgeTarget, PurgeType, Storage};
use pingora::cache::trace::SpanHandle;
use pingora::{Error, ErrorType};

use super::kept::{CacheLimits, Filling, KeptId, KeptResponse, KeyDetails};
use super::purge::Purge;
use crate::events::Events;

/// Parts with a lock of their own; each has its share of the budget.
const SHARDS: usize = 8;
/// The share of the budget that responses on their way in may take besides.
const FILLING_SHARE: usize = 4;
/// After so long another of those who wait has its turn: the client of the first may be slow.
const MAX_LOCK_AGE: Duration = Duration::from_secs(5);

/// Responses that are kept, within a budget.
pub struct ResponseCache {
    shards: [Mutex<Shard>; SHARDS],
    next_id: AtomicU64,
    /// How often something was dropped on request.
    purges: AtomicU64,
    /// Bytes of bodies on their way in.
    filling_bytes: AtomicUsize,
    lock: CacheLock,
    events: Events,
}

struct Shard {
    kept: LruCache<HashBinary, Arc<KeptResponse>>,
    bytes: usize,
}

impl ResponseCache {
    /// One for the whole life of the process, as the framework asks for.
    pub fn start(events: Events) -> &'static Self {
        let shard = || Mutex::new(Shard { kept: LruCache::unbounded(), bytes: 0 });
        Box::leak(Box::new(Self {
            shards: std::array::from_fn(|_| shard()),
            next_id: AtomicU64::new(1),
            purges: AtomicU64::new(0),
            filling_bytes: AtomicUsize::new(0),
            lock: CacheLock::new(MAX_LOCK_AGE),
            events,
        }))
    }

    /// By which requests for a response that is on its way wait for it.
    pub fn lock(&'static self) -> &'static CacheKeyLockImpl {
        &self.lock
    }

    /// How often something was dropped so far.
    pub fn purges(&self) -> u64 {
        self.purges.load(Ordering::SeqCst)
    }

    /// Drops responses, and those on their way in with them; returns how many were kept.
    pub fn purge(&self, purge: &Purge) -> usize {
        // Before the walk: what is kept after it was asked for after it.
        self.purges.fetch_add(1, Ordering::SeqCst);
        let mut dropped = 0;
        for shard in &self.shards {
            let mut shard = shard.lock();
            let named = shard.kept.iter().filter(|(_, kept)| purge.is_for(&kept.name, &kept.head.headers));
            let named: Vec<HashBinary> = named.map(|(key, _)| *key).collect();
            dropped += named.len();
            for key in named {
                let gone = shard.kept.pop(&key);
                self.account(&mut shard, gone.as_deref(), None);
            }
        }
        dropped
    }

    fn shard(&self, key: HashBinary) -> &Mutex<Shard> {
        let [first, ..] = key;
        // INVARIANT: the remainder is below the number of shards.
        self.shards.get(usize::from(first) % SHARDS).unwrap_or(&self.shards[0])
    }

    /// Keeps what a lock guards and what is told of it in step.
    fn account(&self, shard: &mut Shard, gone: Option<&KeptResponse>, new: Option<&KeptResponse>) {
        let (less, more) = (gone.map_or(0, KeptResponse::bytes), new.map_or(0, KeptResponse::bytes));
        shard.bytes = (shard.bytes + more).saturating_sub(less);
        let metrics = self.events.metrics();
        #[expect(clippy::cast_possible_wrap, reason = "memory is far below the range")]
        metrics.cached_bytes.add(more as i64 - less as i64);
        metrics.cached_responses.add(i64::from(new.is_some()) - i64::from(gone.is_some()));
    }

    /// Whether so many bytes more may be on their way in; they are counted if so.
    pub(super) fn may_fill(&self, bytes: usize, limits: CacheLimits) -> bool {
        let most = limits.all_bytes / FILLING_SHARE;
        let before = self.filling_bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= most;
        if !fits {
            self.filled(bytes);
        }
        fits
    }

    /// So many bytes are on their way in no more.
    pub(super) fn filled(&self, bytes: usize) {
        self.filling_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn keep(&self, key: HashBinary, new: KeptResponse, details: &KeyDetails) {
        let (budget, bytes) = (details.limits.all_bytes / SHARDS, new.bytes());
        let mut shard = self.shard(key).lock();
        // Under the lock, because a purge that begins now waits for it.
        if bytes > budget || self.purges() != details.purges {
            return;
        }
        let new = Arc::new(new);
        let gone = shard.kept.put(key, Arc::clone(&new));
        self.account(&mut shard, gone.as_deref(), Some(&new));
        while shard.bytes > budget
            && let Some((_, gone)) = shard.kept.pop_lru()
        {
            self.account(&mut shard, Some(&gone), None);
        }
    }
}

#[async_trait]
impl Storage for ResponseCache {
    async fn lookup(
        &'static self,
        key: &CacheKey,
        _: &SpanHandle,
    ) -> Result<Option<(CacheMeta, HitHandler)>> {
        let key = key.combined_bin();
        let kept = self.shard(key).lock().kept.get(&key).cloned();
        Ok(kept.map(|kept| (kept.meta(), Box::new(kept.hit()) as HitHandler)))
    }

    async fn get_miss_handler(
        &'static self,
        key: &CacheKey,
        meta: &CacheMeta,
        _: &SpanHandle,
    ) -> Result<MissHandler> {
        let Some(details) = key.extensions.get::<KeyDetails>().cloned() else {
            return Error::e_explain(ErrorType::InternalError, "a key without details");
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        // A copy, because the other one goes on with the response.
        let meta = KeptResponse::new(id, Arc::clone(&details.name), meta, bytes::Bytes::new()).meta();
        Ok(Box::new(Filling::new(self, id, key.combined_bin(), meta, details)))
    }

    async fn purge(
        &'static self,
        target: PurgeTarget<'_>,
        _: PurgeType,
        _: &SpanHandle,
    ) -> Result<PurgeOutcome> {
        let key = target.key().combined_bin();
        let mut shard = self.shard(key).lock();
        let gone = shard.kept.pop(&key);
        self.account(&mut shard, gone.as_deref(), None);
        Ok(match gone {
            Some(kept) => PurgeOutcome::Purged(Some(pingora::cache::CacheEntryId::new(kept.id))),
            None => PurgeOutcome::NotFound,
        })
    }

    async fn update_meta(&'static self, key: &CacheKey, meta: &CacheMeta, _: &SpanHandle) -> Result<bool> {
        let key = key.combined_bin();
        let mut shard = self.shard(key).lock();
        let Some(kept) = shard.kept.peek(&key).cloned() else { return Ok(false) };
        // Meanwhile another response may have come in its place, of which nothing was said.
        if meta.extensions().get() != Some(&KeptId(kept.id)) {
            return Ok(false);
        }
        let renewed = Arc::new(kept.renewed(meta));
        shard.kept.put(key, Arc::clone(&renewed));
        self.account(&mut shard, Some(&kept), Some(&renewed));
        Ok(true)
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync + 'static) {
        self
    }
}
