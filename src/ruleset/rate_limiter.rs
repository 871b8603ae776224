//! Rules of the phase `http_ratelimit`: what they count, by what, and whether the rate is exceeded.

use std::sync::Arc;
use std::time::Duration;

use counters::{Rate, RateCounters, RateExceeded, RateHold, RateKey};
use expression::{Expression, Facts, NamedSets, ValueExpression};
use model::Phase;
use model::rate_limit::RateLimit;

/// Longest period and mitigation, in seconds.
const MAX_SECONDS: u64 = 86_400;
/// Most characteristics of a rule.
const MAX_CHARACTERISTICS: usize = 8;

/// What is limited by one rule.
#[derive(Debug)]
pub struct RateLimiter {
    /// What it was compiled from.
    source: RateLimit,
    characteristics: Vec<ValueExpression>,
    counting: Counting,
    rate: Rate,
    counters: Arc<RateCounters>,
}

/// Which requests count, and when that is known.
#[derive(Debug)]
enum Counting {
    /// Those that the rule is for.
    Own,
    Requests(Expression),
    /// By their answers.
    Responses(Expression),
}

/// A request that is counted when its answer is known.
#[derive(Debug)]
pub struct PendingCount {
    hold: RateHold,
    limiter: Arc<RateLimiter>,
}

/// What a rule found of the rate of a request.
#[derive(Debug)]
pub struct RateFinding {
    pub exceeded: Option<RateExceeded>,
    pub pending: Option<PendingCount>,
}

impl RateLimiter {
    /// Whether the body of a request must be read before it is judged.
    pub fn reads_body(&self) -> bool {
        let counting = match &self.counting {
            Counting::Requests(expression) => expression.reads_body(),
            Counting::Own | Counting::Responses(_) => false,
        };
        counting || self.characteristics.iter().any(ValueExpression::reads_body)
    }

    /// Compiles what a rule counts. If `known` counts by the same characteristics in the same period, its counters are kept.
    ///
    /// # Errors
    /// All mistakes: the field, and one sentence.
    pub fn compile(
        source: &RateLimit,
        sets: &NamedSets,
        known: Option<&Self>,
    ) -> Result<Self, Vec<(String, String)>> {
        let mut mistakes: Vec<(String, String)> = Vec::new();
        let mut refuse = |field: &str, message: String| mistakes.push((field.to_owned(), message));
        let mut characteristics = Vec::new();
        for (nth, text) in source.characteristics.iter().enumerate() {
            match ValueExpression::parse(text, Phase::HttpRatelimit, sets) {
                Ok(value) => characteristics.push(value),
                Err(mistake) => refuse(&format!("characteristics/{nth}"), mistake.to_string()),
            }
        }
        if source.characteristics.is_empty() || source.characteristics.len() > MAX_CHARACTERISTICS {
            let message =
                format!("`characteristics` has 1 to {MAX_CHARACTERISTICS} expressions, such as `ip.src`");
            refuse("characteristics", message);
        }
        if !(1..=MAX_SECONDS).contains(&source.period) {
            refuse("period", format!("`period` takes 1 to {MAX_SECONDS} seconds, found {}", source.period));
        }
        if source.mitigation_timeout > MAX_SECONDS {
            let found = source.mitigation_timeout;
            refuse(
                "mitigation_timeout",
                format!("`mitigation_timeout` takes 0 to {MAX_SECONDS} seconds, found {found}"),
            );
        }
        let limit = match (source.requests_per_period, source.score_per_period) {
            (Some(limit), None) | (None, Some(limit)) if limit > 0 => limit,
            _ => {
                let message = "expected one of `requests_per_period` and `score_per_period`, above 0";
                refuse("requests_per_period", message.to_owned());
                1
            }
        };
        if source.score_per_period.is_some() == source.score_response_header_name.is_empty() {
            let message = "`score_per_period` and `score_response_header_name` go together";
            refuse("score_response_header_name", message.to_owned());
        }
        let counting = counting(&source.counting_expression, sets).unwrap_or_else(|mistake| {
            refuse("counting_expression", mistake);
            Counting::Own
        });
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let rate = Rate {
            limit,
            period: Duration::from_secs(source.period),
            mitigation: Duration::from_secs(source.mitigation_timeout),
        };
        let known = known.filter(|known| {
            known.source.characteristics == source.characteristics
                && known.source.period == source.period
                && known.source.score_per_period.is_some() == source.score_per_period.is_some()
        });
        let counters = known.map_or_else(Arc::default, |known| Arc::clone(&known.counters));
        Ok(Self { source: source.clone(), characteristics, counting, rate, counters })
    }

    /// Counts a request, and says whether its rate is exceeded; `None` if the rule is not for it. With `counts_all` requests
    /// past the rate are counted too.
    pub fn judge(self: &Arc<Self>, is_for: bool, counts_all: bool, facts: &Facts<'_>) -> Option<RateFinding> {
        let counts_now = match &self.counting {
            Counting::Own => is_for,
            Counting::Requests(expression) => expression.matches(facts),
            Counting::Responses(_) => false,
        };
        let by_answer = match &self.counting {
            Counting::Responses(expression) => expression.decided(facts) != Some(false),
            Counting::Own | Counting::Requests(_) => {
                counts_now && (self.source.requests_to_origin || self.source.score_per_period.is_some())
            }
        };
        if !is_for && !counts_now && !by_answer {
            return None;
        }
        let (key, now) = (self.key(facts), facts.request.received);
        // What the rule is not for is counted, whatever the rate.
        let counts_all = counts_all || !is_for;
        let (pending, judged) = if by_answer {
            let (hold, judged) = self.counters.hold(key, self.rate, now, counts_all);
            let pending = hold.map(|hold| PendingCount { hold, limiter: Arc::clone(self) });
            (pending, judged)
        } else if counts_now {
            (None, self.counters.count(key, self.rate, now, counts_all))
        } else {
            (None, self.counters.ask(key, self.rate, now))
        };
        Some(RateFinding { exceeded: judged.err().filter(|_| is_for), pending })
    }

    fn key(&self, facts: &Facts<'_>) -> RateKey {
        let mut values = Vec::with_capacity(32);
        for characteristic in &self.characteristics {
            characteristic.add_to_key(facts, &mut values);
        }
        self.counters.key(&values)
    }
}

impl PendingCount {
    /// Counts the request by its answer. `reached_origin` says whether an origin gave it.
    pub fn settle(self, facts: &Facts<'_>, reached_origin: bool, now: Duration) {
        let Self { hold, limiter } = self;
        let counts = (reached_origin || !limiter.source.requests_to_origin)
            && match &limiter.counting {
                Counting::Responses(expression) => expression.matches(facts),
                Counting::Own | Counting::Requests(_) => true,
            };
        let amount = match limiter.source.score_per_period {
            _ if !counts => 0,
            None => 1,
            Some(_) => score(facts, &limiter.source.score_response_header_name),
        };
        hold.settle(amount, now);
    }

    /// Counts a request that has no answer, because its client did not wait for one.
    pub fn settle_unanswered(self, reached_origin: bool, now: Duration) {
        let counts = match self.limiter.counting {
            Counting::Responses(_) => false,
            Counting::Own | Counting::Requests(_) => reached_origin,
        };
        self.hold.settle(u64::from(counts), now);
    }
}

/// What a response adds, by a field of it; nothing if that is no number.
fn score(facts: &Facts<'_>, name: &str) -> u64 {
    let mut fields = facts.response.map_or(&[][..], |response| response.headers).iter();
    let field = fields.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
    field.and_then(|(_, value)| std::str::from_utf8(value).ok()?.trim().parse().ok()).unwrap_or(0)
}

fn counting(text: &str, sets: &NamedSets) -> Result<Counting, String> {
    if text.trim().is_empty() {
        return Ok(Counting::Own);
    }
    if let Ok(expression) = Expression::parse_with(text, Phase::HttpRatelimit, sets) {
        return Ok(Counting::Requests(expression));
    }
    let of_response = Expression::parse_with(text, Phase::HttpResponseFirewallManaged, sets);
    of_response.map(Counting::Responses).map_err(|mistake| mistake.to_string())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use seclang::RequestHead;

    #[test]
    fn who_does_not_wait_for_an_answer_has_asked_the_origin_all_the_same() {
        let limit = |counting_expression: &str| {
            let source = RateLimit {
                characteristics: vec!["ip.src".to_owned()],
                period: 60,
                requests_per_period: Some(1),
                requests_to_origin: true,
                counting_expression: counting_expression.to_owned(),
                ..RateLimit::default()
            };
            Arc::new(RateLimiter::compile(&source, &NamedSets::default(), None).unwrap())
        };
        let request = RequestHead {
            method: b"GET",
            target: b"/",
            protocol: "HTTP/1.1",
            headers: &[],
            client: Ipv4Addr::LOCALHOST.into(),
            server: None,
            request_id: "0",
            received: Duration::from_secs(1000),
        };
        let facts = Facts::of_request(&request);
        for (counting, reached_origin, passes_again) in [
            ("", true, false),
            ("", false, true),
            ("http.request.method eq \"GET\"", true, false),
            ("http.response.code eq 401", true, true),
        ] {
            let limiter = limit(counting);
            let first = limiter.judge(true, false, &facts).unwrap();
            assert!(limiter.judge(true, false, &facts).unwrap().exceeded.is_some(), "one is held");
            first.pending.unwrap().settle_unanswered(reached_origin, request.received);
            let again = limiter.judge(true, false, &facts).unwrap().exceeded.is_none();
            assert_eq!(again, passes_again, "{counting:?} {reached_origin}");
        }
    }
}
