//! What a request asks of the gateway, in fields of its own. They win over the gateway's settings.

use std::num::{NonZeroU64, NonZeroU128};
use std::time::Duration;

use http::HeaderMap;
use serde::Deserialize;

use super::metadata::Metadata;
use super::price;
use super::usage::Usage;
use model::Backoff;

/// Bounds of the fields.
const MAX_ATTEMPTS: u32 = 5;
const MAX_DELAY: Duration = Duration::from_millis(5000);
const MIN_CACHE_TTL: Duration = Duration::from_secs(60);
const MAX_CACHE_TTL: Duration = Duration::from_secs(30 * 86_400);
const MAX_ID_BYTES: usize = 128;

/// The price that a client says its call has, in US dollars a token.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomCost {
    #[serde(default)]
    pub per_token_in: f64,
    #[serde(default)]
    pub per_token_out: f64,
}

impl CustomCost {
    /// The cost of a call at this price, in 10⁻⁹ dollars, saturating.
    #[expect(clippy::cast_precision_loss, reason = "an estimate may be rounded")]
    pub fn of(self, usage: &Usage) -> u64 {
        let count = |tokens: Option<u64>| tokens.unwrap_or(0) as f64;
        let dollars = count(usage.input) * self.per_token_in + count(usage.output) * self.per_token_out;
        price::nanos(dollars).unwrap_or(u64::MAX)
    }
}

/// The fields of one request; `None` if the gateway's setting holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub collect_log: Option<bool>,
    pub collect_log_payload: Option<bool>,
    pub metadata: Metadata,
    pub event_id: Option<String>,
    pub custom_cost: Option<CustomCost>,
    pub request_timeout: Option<Duration>,
    pub max_attempts: Option<u32>,
    pub retry_delay: Option<Duration>,
    pub backoff: Option<Backoff>,
    pub skip_cache: bool,
    pub cache_ttl: Option<Duration>,
    pub cache_key: Option<String>,
    /// Which stored key to take.
    pub byok_alias: Option<String>,
    /// The trace that the call is of, for the collectors of the gateway, and the span in it that the call is below.
    pub trace_id: Option<NonZeroU128>,
    pub parent_span_id: Option<NonZeroU64>,
    /// What the client sent and the gateway does not do.
    pub warnings: Vec<String>,
}

/// Names behind `svc-aig-` that have a meaning.
const KNOWN: &[&str] = &[
    "authorization",
    "token",
    "skip-cache",
    "cache-ttl",
    "cache-key",
    "collect-log",
    "collect-log-payload",
    "metadata",
    "custom-cost",
    "request-timeout",
    "max-attempts",
    "retry-delay",
    "backoff",
    "byok-alias",
    "event-id",
    "gateway-id",
    "otel-trace-id",
    "otel-parent-span-id",
];

impl Options {
    /// Reads the fields that begin with `svc-aig-`.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut options = Self::default();
        for (name, value) in headers {
            let Some(name) = name.as_str().strip_prefix("svc-aig-") else { continue };
            match value.to_str() {
                Ok(text) => options.field(name, text.trim()),
                Err(_) => options.warn(name, "expected printable ASCII"),
            }
        }
        options.warnings.append(&mut options.metadata.warnings);
        options
    }

    /// These, and what they do not say from `outer`.
    #[must_use]
    pub fn over(mut self, outer: &Self) -> Self {
        if self.metadata.entries.is_empty() {
            self.metadata = outer.metadata.clone();
        }
        self.warnings.extend(outer.warnings.iter().cloned());
        Self {
            collect_log: self.collect_log.or(outer.collect_log),
            collect_log_payload: self.collect_log_payload.or(outer.collect_log_payload),
            event_id: self.event_id.or_else(|| outer.event_id.clone()),
            custom_cost: self.custom_cost.or(outer.custom_cost),
            request_timeout: self.request_timeout.or(outer.request_timeout),
            max_attempts: self.max_attempts.or(outer.max_attempts),
            retry_delay: self.retry_delay.or(outer.retry_delay),
            backoff: self.backoff.or(outer.backoff),
            skip_cache: self.skip_cache || outer.skip_cache,
            cache_ttl: self.cache_ttl.or(outer.cache_ttl),
            cache_key: self.cache_key.or_else(|| outer.cache_key.clone()),
            byok_alias: self.byok_alias.or_else(|| outer.byok_alias.clone()),
            trace_id: self.trace_id.or(outer.trace_id),
            parent_span_id: self.parent_span_id.or(outer.parent_span_id),
            metadata: self.metadata,
            warnings: self.warnings,
        }
    }

    fn field(&mut self, name: &str, text: &str) {
        match name {
            "skip-cache" => self.skip_cache = self.boolean(name, text).unwrap_or(false),
            "collect-log" => self.collect_log = self.boolean(name, text),
            "collect-log-payload" => self.collect_log_payload = self.boolean(name, text),
            "metadata" => self.metadata = Metadata::parse(text),
            "event-id" => self.event_id = self.id(name, text),
            "byok-alias" => self.byok_alias = self.id(name, text),
            "cache-key" => self.cache_key = self.id(name, text),
            "otel-trace-id" => {
                self.trace_id = hex(text, 32).and_then(NonZeroU128::new);
                if self.trace_id.is_none() {
                    self.warn(name, "expected 32 hexadecimal digits, not all of them 0");
                }
            }
            "otel-parent-span-id" => {
                let id = hex(text, 16).and_then(|id| u64::try_from(id).ok());
                self.parent_span_id = id.and_then(NonZeroU64::new);
                if self.parent_span_id.is_none() {
                    self.warn(name, "expected 16 hexadecimal digits, not all of them 0");
                }
            }
            "cache-ttl" => self.cache_ttl = self.cache_ttl(name, text),
            "request-timeout" => self.request_timeout = self.milliseconds(name, text, 1, u64::MAX),
            "retry-delay" => {
                self.retry_delay = self.milliseconds(name, text, 0, MAX_DELAY.as_millis() as u64);
            }
            "max-attempts" => {
                let attempts = text.parse().ok().filter(|attempts| (1..=MAX_ATTEMPTS).contains(attempts));
                if attempts.is_none() {
                    self.warn(name, "expected 1 to 5");
                }
                self.max_attempts = attempts;
            }
            "backoff" => {
                let found = Backoff::WORDS.iter().find(|(word, _)| *word == text);
                if found.is_none() {
                    self.warn(name, "expected `constant`, `linear` or `exponential`");
                }
                self.backoff = found.map(|(_, backoff)| *backoff);
            }
            "custom-cost" => {
                let cost = serde_json::from_str(text).ok().filter(|cost: &CustomCost| {
                    (0.0..1e3).contains(&cost.per_token_in) && (0.0..1e3).contains(&cost.per_token_out)
                });
                if cost.is_none() {
                    self.warn(name, "expected an object of `per_token_in` and `per_token_out` in dollars");
                }
                self.custom_cost = cost;
            }
            _ if KNOWN.contains(&name) => {}
            _ => self.warn(name, "is not known"),
        }
    }

    fn warn(&mut self, name: &str, problem: &str) {
        self.warnings.push(format!("svc-aig-{name}: {problem}"));
    }

    fn boolean(&mut self, name: &str, text: &str) -> Option<bool> {
        let value = match text {
            _ if text.eq_ignore_ascii_case("true") => Some(true),
            _ if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        };
        if value.is_none() {
            self.warn(name, "expected `true` or `false`");
        }
        value
    }

    fn id(&mut self, name: &str, text: &str) -> Option<String> {
        let fits = (1..=MAX_ID_BYTES).contains(&text.len());
        if !fits {
            self.warn(name, "expected 1 to 128 characters");
        }
        fits.then(|| text.to_owned())
    }

    fn milliseconds(&mut self, name: &str, text: &str, min: u64, max: u64) -> Option<Duration> {
        let value = text.parse().ok().filter(|value| (min..=max).contains(value));
        if value.is_none() {
            self.warn(name, "expected a number of milliseconds in its bounds");
        }
        value.map(Duration::from_millis)
    }

    /// Seconds; 0 turns the cache off for this request.
    fn cache_ttl(&mut self, name: &str, text: &str) -> Option<Duration> {
        let Ok(seconds) = text.parse().map(Duration::from_secs) else {
            self.warn(name, "expected a number of seconds");
            return None;
        };
        if seconds.is_zero() {
            return Some(seconds);
        }
        let bounded = seconds.clamp(MIN_CACHE_TTL, MAX_CACHE_TTL);
        if bounded != seconds {
            self.warn(name, &format!("takes 60 to {} seconds", MAX_CACHE_TTL.as_secs()));
        }
        Some(bounded)
    }
}

/// The number that a text of exactly `digits` hexadecimal digits stands for.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(fields: &[(&'static str, &str)]) -> Options {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        Options::of(&headers)
    }

    #[test]
    fn every_field_has_its_effect() {
        let found = options(&[
            ("svc-aig-skip-cache", "true"),
            ("svc-aig-collect-log", "false"),
            ("svc-aig-collect-log-payload", "FALSE"),
            ("svc-aig-metadata", r#"{"team":"a"}"#),
            ("svc-aig-event-id", "e-1"),
            ("svc-aig-custom-cost", r#"{"per_token_in":0.1,"per_token_out":0.2}"#),
            ("svc-aig-request-timeout", "1500"),
            ("svc-aig-max-attempts", "3"),
            ("svc-aig-retry-delay", "250"),
            ("svc-aig-backoff", "exponential"),
            ("svc-aig-cache-ttl", "120"),
            ("svc-aig-cache-key", "k"),
            ("svc-aig-otel-trace-id", "0AF7651916cd43dd8448eb211c80319c"),
            ("svc-aig-otel-parent-span-id", "b7ad6b7169203331"),
            ("authorization", "Bearer x"),
        ]);
        assert_eq!(found.trace_id.map(u128::from), Some(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c));
        assert_eq!(found.parent_span_id.map(u64::from), Some(0xb7ad_6b71_6920_3331));
        assert_eq!(found.warnings, Vec::<String>::new());
        assert_eq!(
            (found.skip_cache, found.collect_log, found.collect_log_payload),
            (true, Some(false), Some(false))
        );
        assert_eq!(found.metadata.text("team").as_deref(), Some("a"));
        assert_eq!(found.custom_cost, Some(CustomCost { per_token_in: 0.1, per_token_out: 0.2 }));
        assert_eq!((found.request_timeout, found.max_attempts), (Some(Duration::from_millis(1500)), Some(3)));
        assert_eq!(
            (found.retry_delay, found.backoff),
            (Some(Duration::from_millis(250)), Some(Backoff::Exponential))
        );
        assert_eq!(
            (found.cache_ttl, found.cache_key.as_deref()),
            (Some(Duration::from_secs(120)), Some("k"))
        );
        assert_eq!(found.event_id.as_deref(), Some("e-1"));
    }

    #[test]
    fn what_is_not_done_is_said() {
        for (name, value) in [
            ("svc-aig-skip-cache", "1"),
            ("svc-aig-max-attempts", "6"),
            ("svc-aig-max-attempts", "0"),
            ("svc-aig-retry-delay", "5001"),
            ("svc-aig-backoff", "fast"),
            ("svc-aig-cache-ttl", "5"),
            ("svc-aig-cache-ttl", "x"),
            ("svc-aig-custom-cost", "{}x"),
            ("svc-aig-custom-cost", r#"{"per_token_in":-1}"#),
            ("svc-aig-metadata", "x"),
            ("svc-aig-colect-log", "false"),
            ("svc-aig-event-id", ""),
            ("svc-aig-request-timeout", "0"),
        ] {
            let found = options(&[(name, value)]);
            assert_eq!(found.warnings.len(), 1, "{name}: {value}");
            assert!(found.warnings[0].starts_with(name), "{:?}", found.warnings);
        }
        assert_eq!(options(&[("svc-aig-cache-ttl", "0")]).cache_ttl, Some(Duration::ZERO));
    }

    #[test]
    fn waits_grow_as_asked() {
        let waits =
            |backoff: Backoff| (2..5).map(|next| backoff.wait(MAX_DELAY, next).as_secs()).collect::<Vec<_>>();
        assert_eq!(waits(Backoff::Constant), [5, 5, 5]);
        assert_eq!(waits(Backoff::Linear), [5, 10, 15]);
        assert_eq!(waits(Backoff::Exponential), [5, 10, 20]);
    }
}
