//! The limits of a gateway as claims on counters.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use counters::{Claim, Key, Ledger, Window};
use model::{Counted, Dimension, Limit, LimitFilter, Measure};
use sha2::{Digest, Sha256};

use super::{Caller, Estimate, Exceeded, Used};
use crate::provider::CUSTOM_PREFIX;

impl Caller<'_> {
    /// The key of the counter that counts a call for a limit. `nth` numbers limits that differ only in their amount.
    fn key(&self, nth: usize, limit: &Limit) -> Key {
        let mut name = String::with_capacity(64);
        // INVARIANT: writing to a text cannot fail.
        let _ = write!(name, "{} {:?} {}", self.gateway, limit.measure, limit.interval.as_millis());
        let _ = write!(name, " {:?} {nth}", limit.technique);
        for dimension in &limit.by {
            let _ = write!(name, " {dimension:?}");
        }
        if !limit.only.is_empty() {
            // As long as its filters would be, it would be kept with each counter.
            let _ = write!(name, " only ");
            for byte in Sha256::digest(format!("{:?}", limit.only)) {
                let _ = write!(name, "{byte:02x}");
            }
        }
        Key::new(&name, limit.by.iter().map(|dimension| self.value(dimension)))
    }

    /// Whether a limit counts a call: a model that cannot be known is taken for any.
    pub fn is_counted_by(&self, limit: &Limit) -> bool {
        limit.only.iter().all(|filter| self.passes(filter))
    }

    fn passes(&self, filter: &LimitFilter) -> bool {
        let LimitFilter { dimension, values } = filter;
        match dimension {
            Dimension::Model => self.model.is_none_or(|model| {
                let mut names = [Some(model), self.priced_model].into_iter().flatten();
                names.any(|name| values.iter().any(|value| value.trim().eq_ignore_ascii_case(name.trim())))
            }),
            Dimension::Provider => {
                let slug =
                    |value: &String| value.strip_prefix(CUSTOM_PREFIX).unwrap_or(value) == self.provider;
                values.iter().any(|value| value == self.provider || slug(value))
            }
            Dimension::Token | Dimension::Metadata(_) => {
                let own = self.value(dimension);
                values.iter().any(|value| **value == *own)
            }
        }
    }

    fn value(&self, dimension: &Dimension) -> Cow<'_, str> {
        match dimension {
            Dimension::Token => self.token.unwrap_or("").into(),
            Dimension::Provider => self.provider.into(),
            Dimension::Model => self.model.unwrap_or("").into(),
            Dimension::Metadata(name) => self.metadata.text(name).map(Cow::from).unwrap_or_default(),
        }
    }
}

/// What was reserved for a call. It is given back if it is dropped before it was settled.
#[derive(Debug)]
pub struct Reservation {
    reserved: counters::Reserved,
    measures: Vec<Measure>,
}

impl Reservation {
    /// Replaces what was reserved by what was used. Never waits.
    pub fn settle(self, used: impl Into<Used>) -> Vec<Counted> {
        let (used, measures) = (used.into(), self.measures);
        let of = |claim: usize| measures.get(claim).and_then(|measure| used.of(*measure));
        self.reserved.settle(|claim, reserved| of(claim).unwrap_or(reserved))
    }

    /// What is left of each limit, after what this call uses at least.
    pub fn remaining(&self) -> impl Iterator<Item = (Measure, u64)> {
        self.measures.iter().copied().zip(self.reserved.remaining.iter().copied())
    }
}

/// Takes what a call may use of every limit that counts it, or nothing of any.
///
/// # Errors
/// The first limit that it would pass.
pub fn reserve(
    ledger: &Arc<Ledger>,
    limits: &[Limit],
    caller: Caller<'_>,
    estimate: Estimate,
    now: Duration,
) -> Result<Reservation, Exceeded> {
    let counting = || limits.iter().enumerate().filter(|(_, limit)| caller.is_counted_by(limit));
    let claim = |(nth, limit): (usize, &Limit)| Claim {
        key: caller.key(ordinal(limits, nth), limit),
        window: Window { interval: limit.interval, technique: limit.technique },
        limit: limit.limit,
        least: estimate.least.of(limit.measure),
        most: estimate.most.of(limit.measure),
    };
    let measures: Vec<Measure> = counting().map(|(_, limit)| limit.measure).collect();
    match ledger.reserve(counting().map(claim).collect(), now) {
        Ok(reserved) => Ok(Reservation { reserved, measures }),
        Err(unmet) => Err(Exceeded {
            measure: measures.get(unmet.claim).copied().unwrap_or(Measure::Requests),
            remaining: unmet.remaining,
            retry_after: unmet.retry_after,
        }),
    }
}

/// Which of the limits that differ in nothing but their height a limit is.
fn ordinal(limits: &[Limit], nth: usize) -> usize {
    let is_like = |a: &Limit, b: &Limit| {
        let kind = |limit: &Limit| (limit.measure, limit.interval, limit.technique);
        a.by == b.by && a.only == b.only && kind(a) == kind(b)
    };
    let Some(limit) = limits.get(nth) else { return 0 };
    limits.iter().take(nth).filter(|other| is_like(other, limit)).count()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::{Amounts, MAX_COUNTERS_OF_LIMIT, Used};
    use super::*;
    use crate::metadata::Metadata;
    use model::{Counted, Technique, limit_filters};

    fn limit(measure: Measure, limit: u64, technique: Technique) -> Limit {
        let interval = Duration::from_secs(60);
        Limit { by: Vec::new(), only: Vec::new(), measure, limit, interval, technique }
    }

    fn caller(metadata: &Metadata) -> Caller<'_> {
        Caller {
            gateway: "acme/main",
            token: Some("t1"),
            provider: "openai",
            model: Some("m-2026"),
            priced_model: Some("m"),
            metadata,
        }
    }

    /// A call that uses as much, neither less nor more.
    fn exactly(amounts: Amounts) -> Estimate {
        Estimate { least: amounts, most: amounts }
    }

    const NOW: Duration = Duration::from_secs(6_000_000);

    #[test]
    fn two_hundred_at_once_and_a_hundred_allowed() {
        let (ledger, metadata) = (Arc::new(Ledger::default()), Metadata::default());
        let limits = [
            limit(Measure::Requests, 100, Technique::Fixed),
            limit(Measure::Tokens, 10_000, Technique::Fixed),
        ];
        let allowed = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..200 {
                scope.spawn(|| {
                    let estimate = exactly(Amounts { tokens: 50, cost_nanos: 0 });
                    if let Ok(taken) = reserve(&ledger, &limits, caller(&metadata), estimate, NOW) {
                        allowed.fetch_add(1, Ordering::Relaxed);
                        taken.settle(Amounts { tokens: 20, cost_nanos: 0 });
                    }
                });
            }
        });
        assert_eq!(allowed.into_inner(), 100);
    }

    #[test]
    fn money_is_reserved_settled_and_given_back() {
        let (ledger, metadata) = (Arc::new(Ledger::default()), Metadata::default());
        let limits = [limit(Measure::Cost, 1000, Technique::Fixed)];
        let take = |nanos| {
            let estimate = exactly(Amounts { tokens: 0, cost_nanos: nanos });
            reserve(&ledger, &limits, caller(&metadata), estimate, NOW)
        };
        let first = take(900).unwrap();
        assert_eq!(first.remaining().collect::<Vec<_>>(), [(Measure::Cost, 100)]);
        let refused = take(200).unwrap_err();
        assert_eq!((refused.remaining, refused.retry_after), (100, Duration::from_secs(60)));
        first.settle(Amounts { tokens: 0, cost_nanos: 300 });
        let second = take(700).unwrap();
        assert!(take(1).is_err());
        drop(second);
        assert!(take(700).is_ok());
    }

    #[test]
    fn windows_turn_and_slide() {
        let metadata = Metadata::default();
        for (technique, half_way) in [(Technique::Fixed, 10), (Technique::Sliding, 5)] {
            let (ledger, limits) = (Arc::new(Ledger::default()), [limit(Measure::Requests, 10, technique)]);
            let count = |now| {
                let taken: Vec<_> = std::iter::from_fn(|| {
                    reserve(&ledger, &limits, caller(&metadata), Estimate::default(), now).ok()
                })
                .collect();
                let count = taken.len();
                taken.into_iter().for_each(|taken| drop(taken.settle(Amounts::default())));
                count
            };
            assert_eq!(count(NOW), 10);
            assert_eq!(count(NOW + Duration::from_secs(90)), half_way, "{technique:?}");
            assert_eq!(count(NOW + Duration::from_secs(600)), 10);
        }
    }

    #[test]
    fn each_value_has_its_own_counter() {
        let ledger = Arc::new(Ledger::default());
        let mut limits = [limit(Measure::Requests, 1, Technique::Fixed)];
        limits[0].by = vec![Dimension::Metadata("team".into()), Dimension::Model];
        let (a, b) = (Metadata::parse(r#"{"team":"a"}"#), Metadata::parse(r#"{"team":"b"}"#));
        let take = |metadata| reserve(&ledger, &limits, caller(metadata), Estimate::default(), NOW);
        let held = (take(&a), take(&b));
        assert!(held.0.is_ok() && held.1.is_ok() && take(&a).is_err());
    }

    #[test]
    fn a_limit_counts_what_its_filters_let_through() {
        let (ledger, metadata) = (Arc::new(Ledger::default()), Metadata::parse(r#"{"team":"a"}"#));
        let rows: [(&str, &str, bool); 9] = [
            ("model", "m", true),
            ("model", "M-2026", true),
            ("model", "m-20", false),
            ("provider", "custom-openai", true),
            ("provider", "anthropic", false),
            ("token", "t1", true),
            ("token", "", false),
            ("metadata.team", "a", true),
            ("metadata.other", "a", false),
        ];
        for (word, value, counts) in rows {
            let only =
                limit_filters(&[(word.to_owned(), vec!["x".to_owned(), value.to_owned()])].into()).unwrap();
            let mut limits = [limit(Measure::Requests, 0, Technique::Fixed)];
            limits[0].only = only;
            let is_refused = |caller| reserve(&ledger, &limits, caller, Estimate::default(), NOW).is_err();
            assert_eq!(is_refused(caller(&metadata)), counts, "{word} {value}");
            let unread = Caller { model: None, priced_model: None, ..caller(&metadata) };
            assert_eq!(is_refused(unread), counts || word == "model", "{word} {value}");
            limits[0]
                .only
                .extend(limit_filters(&[("model".to_owned(), vec!["none".to_owned()])].into()).unwrap());
            assert!(
                reserve(&ledger, &limits, caller(&metadata), Estimate::default(), NOW).is_ok(),
                "every filter"
            );
        }
    }

    #[test]
    fn what_does_not_fit_takes_all_that_is_left() {
        let (ledger, metadata) = (Arc::new(Ledger::default()), Metadata::default());
        let limits = [limit(Measure::Tokens, 100, Technique::Fixed)];
        let tokens = |tokens| Amounts { tokens, cost_nanos: 0 };
        let take = |least, most| {
            let estimate = Estimate { least: tokens(least), most: tokens(most) };
            reserve(&ledger, &limits, caller(&metadata), estimate, NOW)
        };
        let first = take(10, 80).unwrap();
        assert_eq!(first.remaining().collect::<Vec<_>>(), [(Measure::Tokens, 90)]);
        let second = take(10, u64::MAX).unwrap();
        assert!(take(0, 1).is_err() && take(1, 1).is_err(), "nothing is left");
        drop((first, second));
        assert!(take(101, u64::MAX).is_err());
        let third = take(100, u64::MAX).unwrap();
        third.settle(tokens(u64::MAX));
        assert!(take(1, 1).is_err());
    }

    #[test]
    fn calls_of_before_the_start_count() {
        let metadata = Metadata::default();
        let limits =
            [limit(Measure::Tokens, 100, Technique::Sliding), limit(Measure::Cost, 10, Technique::Fixed)];
        let used = |tokens| exactly(Amounts { tokens, cost_nanos: 1 });
        let before = Arc::new(Ledger::default());
        let spend = |tokens, at| {
            let taken = reserve(&before, &limits, caller(&metadata), used(tokens), at).unwrap();
            taken.settle(Used::AS_RESERVED)
        };
        let counted: Vec<Counted> = [
            spend(30, NOW - Duration::from_secs(600)),
            spend(40, NOW - Duration::from_secs(60)),
            spend(30, NOW),
        ]
        .concat();
        let ledger = Arc::new(Ledger::default());
        ledger.recover(&counted);
        let take = |tokens| reserve(&ledger, &limits, caller(&metadata), used(tokens), NOW);
        // 30 of this window, and 40 of the window before, which has not begun to fade.
        assert!(take(31).is_err() && take(30).is_ok());
    }

    #[test]
    fn counters_are_bounded_and_go() {
        let ledger = Arc::new(Ledger::default());
        let mut limits = [limit(Measure::Requests, 1, Technique::Fixed)];
        limits[0].by = vec![Dimension::Metadata("user".into())];
        let ask = |user: usize, now| {
            let metadata = Metadata::parse(&format!("{{\"user\":{user}}}"));
            let taken = reserve(&ledger, &limits, caller(&metadata), Estimate::default(), now);
            taken.map(|taken| taken.settle(Amounts::default())).is_ok()
        };
        assert!((0..MAX_COUNTERS_OF_LIMIT).all(|user| ask(user, NOW)));
        // What more there are share one.
        let passed = (0..1000).filter(|user| ask(MAX_COUNTERS_OF_LIMIT + user, NOW)).count();
        assert_eq!(passed, 1);
        assert_eq!(ledger.counters(), MAX_COUNTERS_OF_LIMIT + 1);
        assert!(!ask(5, NOW), "known ones keep theirs");
        let later = NOW + Duration::from_secs(300);
        for _ in 0..MAX_COUNTERS_OF_LIMIT {
            ask(7, later);
        }
        assert!(ledger.counters() < 10, "{}", ledger.counters());
    }
}
