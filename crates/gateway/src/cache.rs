//! Answers kept for the same question of the same caller, for as long as a gateway says.
//!
//! A key is a hash of everything that an answer may depend on: the gateway, the caller, the provider, method,
//! path, whole body, and every header but those that only describe the connection. A name that the client
//! gives parts questions further, and never joins two.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Longest answer, and longest request, that is kept.
pub const MAX_ANSWER_BYTES: usize = 25_000_000;
/// Bytes of all answers together; the oldest go first.
const MAX_BYTES: usize = 256 << 20;
/// How long an answer is kept under a name of the client's if no time is set.
pub const NAMED_TTL: Duration = Duration::from_secs(300);

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

/// What makes two questions the same.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    pub gateway: &'q str,
    /// Who asks; `None` if callers of the gateway share answers.
    pub caller: Option<&'q str>,
    pub provider: &'q str,
    pub method: &'q str,
    /// Path and query towards the provider.
    pub target: &'q str,
    /// Those that go to the provider.
    pub headers: &'q HeaderMap,
    pub name: Option<&'q str>,
    /// What answers are judged by before they are kept, as a number; `None` if they are not.
    pub judged_by: Option<u64>,
    /// A number that differs after each change of the gateway; `None` if kept answers outlast changes.
    pub gateway_version: Option<u64>,
    pub body: &'q [u8],
}

/// Headers that no answer depends on: they describe the connection, the body that is in the key itself, or the
/// request as one of many.
const OF_NO_EFFECT: &[&str] = &[
    "content-length",
    "user-agent",
    "date",
    "traceparent",
    "tracestate",
    "x-request-id",
    "x-stainless-retry-count",
    "x-stainless-timeout",
    "idempotency-key",
];
/// Credentials of the caller towards a provider, which callers who share answers have each their own.
pub const CREDENTIALS: &[&str] =
    &["authorization", "x-api-key", "api-key", "x-goog-api-key", "xi-api-key", "cookie"];

impl Question<'_> {
    pub fn key(&self) -> Key {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(self.gateway.as_bytes());
        part(if self.caller.is_some() { b"caller" } else { b"all" });
        part(self.caller.unwrap_or("").as_bytes());
        for text in [self.provider, self.method, self.target] {
            part(text.as_bytes());
        }
        part(if self.name.is_some() { b"named" } else { b"" });
        part(self.name.unwrap_or("").as_bytes());
        for number in [self.judged_by, self.gateway_version] {
            part(number.map(u64::to_be_bytes).as_ref().map_or(&[][..], |bytes| bytes));
        }
        let counts = |name: &str| {
            !OF_NO_EFFECT.contains(&name) && (self.caller.is_some() || !CREDENTIALS.contains(&name))
        };
        let mut fields: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        fields.retain(|(name, _)| counts(name));
        // Stable, so that the values of one name keep their order.
        fields.sort_by_key(|(name, _)| *name);
        for (name, value) in fields {
            part(name.as_bytes());
            part(value);
        }
        part(self.body);
        Key(hash.finalize().into())
    }
}

/// An answer as the provider gave it.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(http::HeaderName, http::HeaderValue)>,
    /// In the pieces it came in, so that a stream is a stream again.
    pub pieces: Vec<Bytes>,
}

impl Answer {
    fn size(&self) -> usize {
        let fields: usize = self.fields.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        256 + fields + self.pieces.iter().map(|piece| piece.len() + 64).sum::<usize>()
    }
}

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<Key, (Arc<Answer>, Duration)>,
    /// In the order they came.
    order: VecDeque<Key>,
    bytes: usize,
}

/// All answers of the process.
#[derive(Debug, Default)]
pub struct Cache {
    kept: Mutex<Kept>,
}

impl Cache {
    /// The answer to a question, if there is one that still lasts.
    pub fn get(&self, key: &Key, now: Duration) -> Option<Arc<Answer>> {
        let kept = self.kept.lock();
        kept.answers.get(key).filter(|(_, until)| now < *until).map(|(answer, _)| Arc::clone(answer))
    }

    /// Keeps an answer until a moment.
    pub fn put(&self, key: Key, answer: Answer, until: Duration) {
        let size = answer.size();
        if size > MAX_ANSWER_BYTES {
            return;
        }
        let mut kept = self.kept.lock();
        if let Some((before, _)) = kept.answers.insert(key, (Arc::new(answer), until)) {
            kept.bytes -= before.size();
        } else {
            kept.order.push_back(key);
        }
        kept.bytes += size;
        while kept.bytes > MAX_BYTES
            && let Some(oldest) = kept.order.pop_front()
        {
            if let Some((gone, _)) = kept.answers.remove(&oldest) {
                kept.bytes -= gone.size();
            }
        }
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.kept.lock().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| ((*name).try_into().unwrap(), value.parse().unwrap())).collect()
    }

    fn question(headers: &HeaderMap) -> Question<'_> {
        Question {
            gateway: "acme/main",
            caller: Some("token-1"),
            provider: "openai",
            method: "POST",
            target: "/v1/chat/completions",
            headers,
            name: None,
            judged_by: None,
            gateway_version: None,
            body: b"{}",
        }
    }

    #[test]
    fn who_asks_and_what_is_asked_make_the_key() {
        let plain = headers(&[("authorization", "Bearer a"), ("accept", "*/*"), ("user-agent", "x")]);
        let one = question(&plain);
        let key = one.key();
        for other in [
            Question { gateway: "acme/other", ..one },
            Question { caller: Some("token-2"), ..one },
            Question { caller: None, ..one },
            Question { provider: "groq", ..one },
            Question { method: "GET", ..one },
            Question { target: "/v1/chat/completions?x", ..one },
            Question { body: b"{ }", ..one },
            Question { name: Some(""), ..one },
            Question { name: Some("n"), ..one },
            Question { judged_by: Some(1), ..one },
            Question { gateway_version: Some(1), ..one },
        ] {
            assert!(other.key() != key, "{other:?}");
        }
        for fields in [
            &[("authorization", "Bearer b"), ("accept", "*/*")][..],
            &[("accept", "*/*")],
            &[("authorization", "Bearer a"), ("accept", "text/event-stream")],
            &[("authorization", "Bearer a"), ("accept", "*/*"), ("accept-encoding", "gzip")],
            &[("authorization", "Bearer a"), ("accept", "*/*"), ("openai-organization", "o")],
            &[("authorization", "Bearer a"), ("accept", "*/*"), ("anthropic-beta", "b")],
        ] {
            assert!(question(&headers(fields)).key() != key, "{fields:?}");
        }
        let same = headers(&[("user-agent", "y"), ("accept", "*/*"), ("authorization", "Bearer a")]);
        assert_eq!(question(&same).key(), key);
        // A name joins nothing.
        let named = Question { name: Some("n"), ..one };
        assert!(named.key() != Question { body: b"other", ..named }.key());
        assert!(named.key() != Question { caller: Some("token-2"), ..named }.key());
        // Callers who share have credentials of their own.
        let (shared, other) = (Question { caller: None, ..one }, headers(&[("accept", "*/*")]));
        assert_eq!(shared.key(), Question { headers: &other, ..shared }.key());
    }

    #[test]
    fn answers_last_and_the_oldest_go() {
        let cache = Cache::default();
        let (now, later) = (Duration::from_secs(10), Duration::from_secs(20));
        let answer = |bytes: usize| Answer { pieces: vec![Bytes::from(vec![0; bytes])], ..Answer::default() };
        let none = HeaderMap::new();
        let one = question(&none);
        cache.put(one.key(), answer(5), later);
        assert!(cache.get(&one.key(), now).is_some() && cache.get(&one.key(), later).is_none());
        cache.put(one.key(), answer(MAX_ANSWER_BYTES), later);
        assert_eq!(cache.get(&one.key(), now).unwrap().pieces[0].len(), 5, "too long to be kept");
        let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        for name in &many {
            cache.put(Question { name: Some(name), ..one }.key(), answer(10 << 20), later);
        }
        assert!(cache.bytes() <= MAX_BYTES);
        assert!(cache.get(&one.key(), now).is_none());
        assert!(cache.get(&Question { name: Some("39"), ..one }.key(), now).is_some());
    }
}
