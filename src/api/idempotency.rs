//! KeptAnswers to writes, kept for clients that send the same write again because they did not hear its answer.

use std::collections::HashMap;

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::error::{self, ApiError};

/// How long an answer is kept, in seconds.
const KEPT_SECONDS: u64 = 24 * 60 * 60;
/// Most answers that are kept; past it the oldest go.
const MAX_ANSWERS: usize = 4_096;
/// Longest answer that is kept.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// Actor and key.
type Key = (String, String);

/// KeptAnswers by actor and key.
#[derive(Debug, Default)]
pub(super) struct KeptAnswers(Mutex<HashMap<Key, Kept>>);

#[derive(Clone, Debug)]
struct Kept {
    /// Hash of what was asked.
    question: [u8; 32],
    at: u64,
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl KeptAnswers {
    /// The answer to the same question under the same key.
    ///
    /// # Errors
    /// If the key was sent with another question.
    pub(super) fn find(
        &self,
        key: &Key,
        question: &str,
        body: &[u8],
        now: u64,
    ) -> Result<Option<Response>, ApiError> {
        let mut answers = self.0.lock();
        let Some(kept) = answers.get(key) else { return Ok(None) };
        if now.saturating_sub(kept.at) >= KEPT_SECONDS {
            answers.remove(key);
            return Ok(None);
        }
        if kept.question != hash(question, body) {
            let message = format!("the idempotency key `{}` was sent before with another request", key.1);
            return Err(ApiError::new(error::KEY_REUSED, message));
        }
        let Kept { status, headers, body, .. } = kept.clone();
        let mut response = (status, body).into_response();
        *response.headers_mut() = headers;
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        Ok(Some(response))
    }

    /// Keeps an answer, and hands it on.
    pub(super) async fn keep(
        &self,
        key: Key,
        question: &str,
        asked: &[u8],
        now: u64,
        response: Response,
    ) -> Response {
        let (parts, body) = response.into_parts();
        // INVARIANT: the body is one of ours, in memory.
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        if body.len() <= MAX_ANSWER_BYTES {
            let mut answers = self.0.lock();
            if answers.len() >= MAX_ANSWERS {
                let oldest = answers.iter().min_by_key(|(_, kept)| kept.at).map(|(key, _)| key.clone());
                oldest.map(|oldest| answers.remove(&oldest));
            }
            let (status, headers) = (parts.status, parts.headers.clone());
            let question = hash(question, asked);
            answers.insert(key, Kept { question, at: now, status, headers, body: body.to_vec() });
        }
        Response::from_parts(parts, Body::from(body))
    }
}

fn hash(question: &str, body: &[u8]) -> [u8; 32] {
    Sha256::new_with_prefix(question).chain_update([0]).chain_update(body).finalize().into()
}
