//! Answers kept for the same question of the same caller, for as long as a gateway says.
//!
//! A key is a hash of the gateway, the provider, its path, the credential towards it, and the body or a
//! name that the client gave: nobody gets an answer that was paid with another's key.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Longest answer, and longest request, that is kept.
pub const MAX_ANSWER_BYTES: usize = 25_000_000;
/// Bytes of all answers together; the oldest go first.
const MAX_BYTES: usize = 256 << 20;
/// How long an answer is kept under a name of the client's where no time is set.
pub const NAMED_TTL: Duration = Duration::from_secs(300);

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

/// What makes two questions the same.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    pub gateway: &'q str,
    pub provider: &'q str,
    pub method: &'q str,
    /// Path and query towards the provider.
    pub target: &'q str,
    /// The fields that carry credentials.
    pub credentials: &'q [&'q [u8]],
    pub name: Option<&'q str>,
    pub body: &'q [u8],
}

impl Question<'_> {
    pub fn key(&self) -> Key {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(self.gateway.as_bytes());
        part(self.provider.as_bytes());
        self.credentials.iter().for_each(|credential| part(credential));
        match self.name {
            Some(name) => {
                part(b"name");
                part(name.as_bytes());
            }
            None => {
                part(b"body");
                part(self.method.as_bytes());
                part(self.target.as_bytes());
                part(self.body);
            }
        }
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
    /// The answer to a question, where there is one that still lasts.
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

    const QUESTION: Question<'_> = Question {
        gateway: "acme/main",
        provider: "openai",
        method: "POST",
        target: "/v1/chat/completions",
        credentials: &[b"Bearer a"],
        name: None,
        body: b"{}",
    };

    #[test]
    fn who_asks_and_what_is_asked_make_the_key() {
        let key = QUESTION.key();
        for other in [
            Question { gateway: "acme/other", ..QUESTION },
            Question { provider: "groq", ..QUESTION },
            Question { method: "GET", ..QUESTION },
            Question { target: "/v1/chat/completions?x", ..QUESTION },
            Question { credentials: &[b"Bearer b"], ..QUESTION },
            Question { credentials: &[], ..QUESTION },
            Question { body: b"{ }", ..QUESTION },
            Question { name: Some("n"), ..QUESTION },
        ] {
            assert!(other.key() != key, "{other:?}");
        }
        let named = Question { name: Some("n"), ..QUESTION };
        assert_eq!(named.key(), Question { body: b"other", target: "/x", ..named }.key());
        assert!(named.key() != Question { credentials: &[b"Bearer b"], ..named }.key());
    }

    #[test]
    fn answers_last_and_the_oldest_go() {
        let cache = Cache::default();
        let (now, later) = (Duration::from_secs(10), Duration::from_secs(20));
        let answer = |bytes: usize| Answer { pieces: vec![Bytes::from(vec![0; bytes])], ..Answer::default() };
        cache.put(QUESTION.key(), answer(5), later);
        assert!(cache.get(&QUESTION.key(), now).is_some() && cache.get(&QUESTION.key(), later).is_none());
        cache.put(QUESTION.key(), answer(MAX_ANSWER_BYTES), later);
        assert_eq!(cache.get(&QUESTION.key(), now).unwrap().pieces[0].len(), 5, "too long to be kept");
        let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        for name in &many {
            cache.put(Question { name: Some(name), ..QUESTION }.key(), answer(10 << 20), later);
        }
        assert!(cache.bytes() <= MAX_BYTES);
        assert!(cache.get(&QUESTION.key(), now).is_none());
        assert!(cache.get(&Question { name: Some("39"), ..QUESTION }.key(), now).is_some());
    }
}
