//! How many requests a token may send.

use std::collections::HashMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;

use super::error::{self, ApiError};

/// The window, in seconds.
pub(super) const WINDOW_SECONDS: u64 = 300;

/// Requests by actor. There are as many actors as tokens and keys.
#[derive(Debug)]
pub(super) struct TokenRates {
    /// Requests of a window; 0 for no end.
    limit: u64,
    counted: Mutex<HashMap<String, SentRequests>>,
}

/// What an actor sent in a window.
#[derive(Clone, Copy, Debug, Default)]
struct SentRequests {
    window: u64,
    requests: u64,
}

/// What is left of an actor's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    limit: u64,
    remaining: u64,
    /// Seconds until the next window.
    reset: u64,
}

impl TokenRates {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, counted: Mutex::default() }
    }

    /// Counts a request; `None` if there is no limit.
    ///
    /// # Errors
    /// If it is one too many, with what is left: nothing.
    pub(super) fn count(&self, actor: &str, now: u64) -> Result<Option<Left>, Box<(ApiError, Left)>> {
        if self.limit == 0 {
            return Ok(None);
        }
        let (window, reset) = (now / WINDOW_SECONDS, WINDOW_SECONDS - now % WINDOW_SECONDS);
        let mut counted = self.counted.lock();
        let counted = counted.entry(actor.to_owned()).or_default();
        if counted.window != window {
            *counted = SentRequests { window, requests: 0 };
        }
        counted.requests = counted.requests.saturating_add(1);
        let left = Left { limit: self.limit, remaining: self.limit.saturating_sub(counted.requests), reset };
        if counted.requests <= self.limit {
            return Ok(Some(left));
        }
        let message = format!(
            "More than {} requests per {WINDOW_SECONDS} seconds reached. Please wait and consider throttling your \
             request speed",
            self.limit
        );
        Err(Box::new((ApiError::new(error::TOO_MANY_REQUESTS, message), left)))
    }
}

impl Left {
    /// Tells a client, in the fields that clients know.
    pub(super) fn write(self, headers: &mut HeaderMap, is_refused: bool) {
        let Self { limit, remaining, reset } = self;
        let mut put = |name: &'static str, value: String| {
            // INVARIANT: numbers and words of ours are valid values.
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        put("ratelimit", format!("\"default\";r={remaining};t={reset}"));
        put("ratelimit-policy", format!("\"default\";q={limit};w={WINDOW_SECONDS}"));
        put("x-ratelimit-limit", limit.to_string());
        put("x-ratelimit-remaining", remaining.to_string());
        put("x-ratelimit-reset", reset.to_string());
        if is_refused {
            put("retry-after", reset.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_actor_has_its_own_window() {
        let limit = TokenRates::new(2);
        let left = |actor: &str, now| limit.count(actor, now).map(|left| left.map(|left| left.remaining));
        assert_eq!(left("a", 300).unwrap(), Some(1));
        assert_eq!(left("a", 599).unwrap(), Some(0));
        let (refused, left_over) = *left("a", 599).unwrap_err();
        assert_eq!((refused.code, left_over.remaining, left_over.reset), (error::TOO_MANY_REQUESTS, 0, 1));
        assert_eq!(left("b", 599).unwrap(), Some(1));
        assert_eq!(left("a", 600).unwrap(), Some(1), "another window");
        assert_eq!(TokenRates::new(0).count("a", 0).unwrap(), None);
    }
}
