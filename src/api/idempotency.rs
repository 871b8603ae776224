//! Answers to writes, kept for clients that send the same write again because they did not hear its answer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::error::{self, ApiError, ApiErrors};
use crate::control::Control;
use store::KeyedRequest;

/// How long an answer is kept, in seconds.
const KEPT_SECONDS: u64 = 24 * 60 * 60;
/// Most bytes of all answers that are kept; past it the oldest go.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// What an answer takes beside its body.
const ANSWER_BYTES: usize = 1 << 10;

/// Answers by the hash of who asked and the key.
#[derive(Debug, Default)]
pub(super) struct KeptAnswers(Mutex<AnswersByKey>);

#[derive(Debug, Default)]
struct AnswersByKey {
    by_key: HashMap<String, Kept>,
    bytes: usize,
    /// Keys of requests that are not answered yet.
    under_way: HashSet<String>,
}

impl AnswersByKey {
    fn remove(&mut self, key: &str) {
        if let Some(kept) = self.by_key.remove(key) {
            self.bytes -= kept.bytes();
        }
    }

    fn insert(&mut self, key: String, kept: Kept) {
        self.remove(&key);
        self.bytes += kept.bytes();
        self.by_key.insert(key, kept);
        while self.bytes > MAX_KEPT_BYTES {
            let oldest = self.by_key.iter().min_by_key(|(_, kept)| kept.at).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.remove(&oldest);
        }
    }
}

#[derive(Clone, Debug)]
struct Kept {
    /// Hash of what was asked.
    question: String,
    at: u64,
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.body.len() + ANSWER_BYTES
    }
}

/// What a key stands for when a request comes with it.
pub(super) enum FirstOrKnown {
    /// The answer to the same question.
    Known(Box<Response>),
    /// Nothing yet: the request is the first.
    First(UnderWay),
}

/// A request that is not answered yet; its key is its own until this is dropped.
pub(super) struct UnderWay {
    answers: Arc<KeptAnswers>,
    request: KeyedRequest,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.answers.0.lock().under_way.remove(&self.request.key);
    }
}

impl KeptAnswers {
    /// Begins a request under a key.
    ///
    /// # Errors
    /// If the key was sent with another question, or a request with it is not answered yet.
    pub(super) fn begin(
        self: &Arc<Self>,
        request: &KeyedRequest,
        now: u64,
    ) -> Result<FirstOrKnown, ApiError> {
        let mut answers = self.0.lock();
        let KeyedRequest { key, question } = request;
        let is_over = |kept: &Kept| now.saturating_sub(kept.at) >= KEPT_SECONDS;
        if answers.by_key.get(key).is_some_and(is_over) {
            answers.remove(key);
        }
        let Some(kept) = answers.by_key.get(key) else {
            if !answers.under_way.insert(key.clone()) {
                let message = "a request with this idempotency key is not answered yet";
                return Err(ApiError::new(error::KEY_REUSED, message));
            }
            let under_way = UnderWay { answers: Arc::clone(self), request: request.clone() };
            return Ok(FirstOrKnown::First(under_way));
        };
        if kept.question != *question {
            return Err(other_question());
        }
        let Kept { status, headers, body, .. } = kept.clone();
        let mut response = (status, body).into_response();
        *response.headers_mut() = headers;
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        Ok(FirstOrKnown::Known(Box::new(response)))
    }
}

impl UnderWay {
    /// Refuses the request if it took effect before this process began, or so long ago that its answer is gone: carried out
    /// again, it would make the same thing twice.
    ///
    /// # Errors
    /// If so, if the key was sent with another question, or if the store cannot be read.
    pub(super) async fn check(&self, control: &Control) -> Result<(), ApiErrors> {
        let KeyedRequest { key, question } = &self.request;
        let key = key.clone();
        match control.read(move |store| store.keyed_request(&key)).await? {
            None => Ok(()),
            Some((_, known)) if known != *question => Err(other_question().into()),
            Some((revision, _)) => {
                let message = format!(
                    "the request with this idempotency key took effect as revision {revision}, and its answer is no longer \
                     kept; read what it changed"
                );
                Err(ApiError::new(error::KEY_REUSED, message).into())
            }
        }
    }

    /// Keeps the answer, and hands it on.
    pub(super) async fn keep(self, now: u64, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        // INVARIANT: the body is one of ours, in memory.
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let (status, headers) = (parts.status, parts.headers.clone());
        let question = self.request.question.clone();
        let kept = Kept { question, at: now, status, headers, body: body.to_vec() };
        self.answers.0.lock().insert(self.request.key.clone(), kept);
        Response::from_parts(parts, Body::from(body))
    }
}

fn other_question() -> ApiError {
    ApiError::new(error::KEY_REUSED, "this idempotency key was sent before with another request")
}

/// Hashes a request that has an idempotency key: one hash over the caller and the key, one over the request itself.
pub(super) fn keyed_request(actor: &str, key: &str, question: &str, body: &[u8]) -> KeyedRequest {
    let hash = |first: &str, second: &[u8]| {
        let digest = Sha256::new_with_prefix(first).chain_update([0]).chain_update(second).finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    KeyedRequest { key: hash(actor, key.as_bytes()), question: hash(question, body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_bounded_in_bytes_and_the_oldest_go() {
        let mut answers = AnswersByKey::default();
        let key = |nth: u64| nth.to_string();
        for nth in 0..40 {
            let (headers, body) = (HeaderMap::new(), vec![0; 1 << 20]);
            answers.insert(
                key(nth),
                Kept { question: String::new(), at: nth, status: StatusCode::OK, headers, body },
            );
            assert!(answers.bytes <= MAX_KEPT_BYTES);
        }
        assert!(answers.by_key.len() == 15 && answers.by_key.contains_key(&key(39)));
        let known: Vec<String> = answers.by_key.keys().cloned().collect();
        known.iter().for_each(|key| answers.remove(key));
        assert_eq!(answers.bytes, 0);
    }

    #[test]
    fn a_key_is_one_request_s_until_it_is_answered() {
        let answers = Arc::new(KeptAnswers::default());
        let request = keyed_request("a", "k", "POST /x", b"{}");
        let begin = || answers.begin(&request, 0);
        let first = begin().ok();
        assert!(matches!(first, Some(FirstOrKnown::First(_))));
        assert!(begin().is_err_and(|error| error.message.contains("not answered yet")));
        drop(first);
        assert!(matches!(begin(), Ok(FirstOrKnown::First(_))), "one that failed may be sent again");
    }
}
