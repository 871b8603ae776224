//! Spikes of security events.
//!
//! A spike is an interval of five minutes with 200 events or more whose number lies more than 3.5 standard deviations above
//! the intervals of the six hours before.

use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::rfc3339;
use model::alert::AlertPolicy;
use store::{SecurityLog, SecurityOwner, SecurityQuery, StoreError};

/// An interval that events are counted in.
const INTERVAL: Duration = Duration::from_mins(5);
/// Intervals that one is compared with.
const COMPARED: u64 = 71;
/// Fewest events of a spike.
const LEAST: u64 = 200;
/// Standard deviations above the mean.
const DEVIATIONS: f64 = 3.5;

/// What to tell if the events of a policy have a spike now: a sentence, and its figures.
///
/// # Errors
/// If events cannot be read.
pub(super) fn found(
    log: &SecurityLog,
    policy: &AlertPolicy,
    now: Duration,
) -> Result<Option<(String, Value)>, StoreError> {
    let counts = log.per_interval(
        &query(policy, now),
        INTERVAL.as_secs(),
        now.as_secs() / INTERVAL.as_secs(),
        COMPARED + 1,
    )?;
    let Some(spike) = spike(&counts) else { return Ok(None) };
    let text = format!(
        "{}: {} security events in five minutes, where {:.1} are usual",
        policy.name, spike.events, spike.mean
    );
    let data = json!({"events": spike.events, "mean": spike.mean, "deviations": spike.deviations,
        "zones": policy.zones, "sources": policy.sources});
    Ok(Some((text, data)))
}

fn query(policy: &AlertPolicy, now: Duration) -> SecurityQuery {
    let since = now.saturating_sub(INTERVAL * (COMPARED as u32 + 2));
    SecurityQuery {
        owner: SecurityOwner::Account(policy.account.clone()),
        zones: policy.zones.clone(),
        sources: policy.sources.clone(),
        since: Some(rfc3339(std::time::UNIX_EPOCH + since)),
        ..SecurityQuery::default()
    }
}

/// An interval that stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spike {
    events: u64,
    mean: f64,
    /// Standard deviations above the mean; the greatest number if all others are equal.
    deviations: f64,
}

/// Whether the last of the intervals stands out from those before it.
#[expect(clippy::cast_precision_loss, reason = "numbers of events are small")]
fn spike(counts: &[u64]) -> Option<Spike> {
    let (last, before) = counts.split_last()?;
    if *last < LEAST || before.is_empty() {
        return None;
    }
    let of = |sum: f64| sum / before.len() as f64;
    let mean = of(before.iter().map(|count| *count as f64).sum());
    let deviation = of(before.iter().map(|count| (*count as f64 - mean).powi(2)).sum()).sqrt();
    let above = *last as f64 - mean;
    let deviations = if deviation > 0.0 { above / deviation } else { f64::MAX };
    (above > 0.0 && deviations > DEVIATIONS).then_some(Spike { events: *last, mean, deviations })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_stands_out_and_is_no_small_number() {
        let with = |before: &[u64], last: u64| {
            let mut counts = vec![0; 71 - before.len()];
            counts.extend(before);
            counts.push(last);
            spike(&counts)
        };
        assert!(with(&[], 200).is_some_and(|spike| spike.events == 200 && spike.deviations > 1e9));
        assert_eq!(with(&[], 199), None);
        // What is always so is no spike, however much it is.
        let steady: Vec<u64> = (0..71).map(|nth| 1_000 + nth % 10).collect();
        assert_eq!(with(&steady, 1_009), None);
        assert!(with(&steady, 1_020).is_some());
        // A second one beside a first is less of one.
        assert!(with(&[500], 500).is_some());
        assert_eq!(with(&[500; 8], 500), None);
        assert_eq!(spike(&[]), None);
    }
}
