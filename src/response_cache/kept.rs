//! A response that is kept, and the ways into and out of the store.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, StatusCode};
use pingora::Result;
use pingora::cache::key::{CacheKey, HashBinary};
use pingora::cache::storage::{HandleHit, HandleMiss, MissFinishType, Storage};
use pingora::cache::trace::SpanHandle;
use pingora::cache::{CacheEntryId, CacheMeta};
use pingora::http::ResponseHeader;

use super::store::ResponseCache;

/// Bytes that are given out at once.
const PIECE_BYTES: usize = 64 << 10;
/// What a response takes besides its body: its head, its name and its place.
const OVERHEAD_BYTES: usize = 2 << 10;

/// What a response is called by those who drop it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseName {
    pub zone_id: String,
    pub is_https: bool,
    pub host: String,
    /// Path and query as the client sent them.
    pub target: Vec<u8>,
}

/// How much may be kept.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// Of one body.
    pub response_bytes: usize,
    /// Of all responses.
    pub all_bytes: usize,
}

/// What travels with the key of a request.
#[derive(Clone, Debug)]
pub struct KeyDetails {
    pub name: Arc<ResponseName>,
    pub limits: CacheLimits,
    /// How often something had been dropped when the request came: what was asked before that is not kept after it.
    pub purges: u64,
}

/// A response that is kept.
#[derive(Debug)]
pub(super) struct KeptResponse {
    pub(super) id: u64,
    pub(super) name: Arc<ResponseName>,
    fresh_until: SystemTime,
    /// When the origin last said that it holds.
    updated: SystemTime,
    stale_while_revalidate_seconds: u32,
    stale_if_error_seconds: u32,
    variance: Option<HashBinary>,
    pub(super) head: ResponseHeader,
    body: Bytes,
}

/// Which kept response a request got; it comes back if the origin says that it still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptId(pub(super) u64);

impl KeptResponse {
    pub(super) fn new(id: u64, name: Arc<ResponseName>, meta: &CacheMeta, body: Bytes) -> Self {
        Self {
            id,
            name,
            fresh_until: meta.fresh_until(),
            updated: meta.updated(),
            stale_while_revalidate_seconds: meta.stale_while_revalidate_sec(),
            stale_if_error_seconds: meta.stale_if_error_sec(),
            variance: meta.variance(),
            head: meta.response_header_copy(),
            body,
        }
    }

    /// The same body under a head that the origin has said holds.
    pub(super) fn renewed(&self, meta: &CacheMeta) -> Self {
        Self::new(self.id, Arc::clone(&self.name), meta, self.body.clone())
    }

    pub(super) fn meta(&self) -> CacheMeta {
        let mut meta = CacheMeta::new(
            self.fresh_until,
            self.updated,
            self.stale_while_revalidate_seconds,
            self.stale_if_error_seconds,
            self.head.clone(),
        );
        if let Some(variance) = self.variance {
            meta.set_variance(variance);
        }
        meta.extensions_mut().insert(KeptId(self.id));
        meta
    }

    pub(super) fn bytes(&self) -> usize {
        let fields = self.head.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
        self.body.len() + fields.sum::<usize>() + self.name.target.len() + OVERHEAD_BYTES
    }

    pub(super) fn hit(&self) -> KeptBody {
        let range = 0..self.body.len();
        KeptBody { id: self.id, body: self.body.clone(), range }
    }
}

/// A body on its way out.
pub(super) struct KeptBody {
    id: u64,
    body: Bytes,
    range: Range<usize>,
}

#[async_trait]
impl HandleHit for KeptBody {
    async fn read_body(&mut self) -> Result<Option<Bytes>> {
        let start = self.range.start;
        let end = self.range.end.min(start.saturating_add(PIECE_BYTES));
        self.range.start = end;
        // Else a seek was past the end.
        let is_some = start < end && end <= self.body.len();
        Ok(is_some.then(|| self.body.slice(start..end)))
    }

    async fn finish(
        self: Box<Self>,
        _: &'static (dyn Storage + Sync),
        _: &CacheKey,
        _: &SpanHandle,
    ) -> Result<()> {
        Ok(())
    }

    fn can_seek(&self) -> bool {
        true
    }

    fn seek(&mut self, start: usize, end: Option<usize>) -> Result<()> {
        self.range = start..end.unwrap_or(usize::MAX).min(self.body.len());
        Ok(())
    }

    fn entry_id(&self) -> Option<CacheEntryId> {
        Some(CacheEntryId::new(self.id))
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        self
    }

    fn as_any_mut(&mut self) -> &mut (dyn Any + Send + Sync) {
        self
    }
}

/// A response on its way in. What does not fit is not kept, and goes to its client all the same.
pub(super) struct Filling {
    store: &'static ResponseCache,
    id: u64,
    key: HashBinary,
    meta: CacheMeta,
    details: KeyDetails,
    /// `None` once it is too long.
    body: Option<BytesMut>,
}

impl Filling {
    pub(super) fn new(
        store: &'static ResponseCache,
        id: u64,
        key: HashBinary,
        meta: CacheMeta,
        details: KeyDetails,
    ) -> Self {
        Self { store, id, key, meta, details, body: Some(BytesMut::new()) }
    }

    fn give_up(&mut self) {
        if let Some(body) = self.body.take() {
            self.store.filled(body.len());
        }
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[async_trait]
impl HandleMiss for Filling {
    async fn write_body(&mut self, data: Bytes, _: bool) -> Result<()> {
        let Some(body) = &mut self.body else { return Ok(()) };
        let fits = body.len() + data.len() <= self.details.limits.response_bytes
            && self.store.may_fill(data.len(), self.details.limits);
        if fits {
            body.extend_from_slice(&data);
        } else {
            self.give_up();
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<MissFinishType> {
        let Some(body) = self.body.take() else { return Ok(MissFinishType::Created(0)) };
        self.store.filled(body.len());
        // A body shorter than announced is an error before this.
        let announced = self.meta.headers().get(CONTENT_LENGTH).map(HeaderValue::as_bytes);
        let is_whole = announced.is_none_or(|length| length == body.len().to_string().as_bytes());
        let bytes = body.len();
        if is_whole {
            // A copy of its own length: what a buffer holds beyond its content is not counted.
            let body = Bytes::copy_from_slice(&body);
            let mut kept = KeptResponse::new(self.id, Arc::clone(&self.details.name), &self.meta, body);
            if kept.head.status != StatusCode::NO_CONTENT {
                // Of one that came in chunks it is known now, and parts can be given.
                kept.head.insert_header(CONTENT_LENGTH, bytes)?;
            }
            self.store.keep(self.key, kept, &self.details);
        }
        Ok(MissFinishType::Created(bytes))
    }

    fn entry_id(&self) -> Option<CacheEntryId> {
        Some(CacheEntryId::new(self.id))
    }
}
