//! What happened between two looks.

use std::collections::BTreeMap;

use super::scrape::{Labels, Scrape};

/// What the view shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) requests_per_second: f64,
    /// By the first digit of the status, 1 to 5.
    pub(super) statuses: [f64; 5],
    /// Requests a second by verdict.
    pub(super) verdicts: BTreeMap<String, f64>,
    /// Milliseconds that half, 95 % and 99 % of the requests took at most; `None` if there were none.
    pub(super) latency: Option<[f64; 3]>,
    pub(super) connections: f64,
    pub(super) memory_bytes: f64,
    pub(super) zones: Vec<ZoneFigures>,
    pub(super) origins: Vec<OriginFigures>,
    pub(super) gateways: Vec<GatewayFigures>,
    pub(super) findings: TopFindings,
    /// Why there are no new figures.
    pub(super) away: Option<String>,
}

/// Requests of a zone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ZoneFigures {
    pub(super) zone: String,
    pub(super) requests_per_second: f64,
    /// Share of those that were blocked, refused or challenged.
    pub(super) stopped: f64,
    /// Milliseconds that 99 % took at most.
    pub(super) latency: Option<f64>,
}

/// An origin of a zone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OriginFigures {
    pub(super) zone: String,
    pub(super) origin: String,
    pub(super) is_up: bool,
    pub(super) answers_per_second: f64,
    /// Milliseconds until the head of an answer, on average; `None` if there were none.
    pub(super) latency: Option<f64>,
}

/// Calls of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GatewayFigures {
    pub(super) gateway: String,
    pub(super) calls_per_second: f64,
    /// Since the edge started.
    pub(super) input_tokens: f64,
    pub(super) output_tokens: f64,
    pub(super) cost: f64,
}

/// The most frequent values in security events, with how often each was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct TopFindings {
    pub(super) rules: Vec<(String, u64)>,
    pub(super) clients: Vec<(String, u64)>,
    pub(super) paths: Vec<(String, u64)>,
    /// Why there are none.
    pub(super) error: Option<String>,
}

const REQUESTS: &str = "portcullis_requests_total";
const DURATION: &str = "portcullis_request_duration_seconds_bucket";

impl Figures {
    pub(super) fn between(before: &Scrape, now: &Scrape, findings: TopFindings) -> Self {
        let seconds = now.at.saturating_sub(before.at).as_secs_f64().max(f64::EPSILON);
        // An edge that was started anew counts from 0.
        let rate = |name: &str, labels: &Labels, value: f64| {
            let earlier = before.value(name, labels);
            if before.at == now.at {
                0.0
            } else {
                (value - if earlier > value { 0.0 } else { earlier }) / seconds
            }
        };
        let mut figures = Self {
            connections: now.total("portcullis_connections"),
            memory_bytes: now.total("process_resident_memory_bytes"),
            latency: quantiles(before, now, |_| true),
            findings,
            ..Self::default()
        };
        let mut zones: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (labels, value) in now.of(REQUESTS) {
            let rate = rate(REQUESTS, labels, *value);
            let label = |name: &str| labels.get(name).map_or("", String::as_str);
            let class = label("status").chars().next().and_then(|first| first.to_digit(10)).unwrap_or(0);
            if let Some(status) = (class as usize).checked_sub(1).and_then(|at| figures.statuses.get_mut(at))
            {
                *status += rate;
            }
            let (verdict, zone) = (label("verdict"), zones.entry(label("zone").to_owned()).or_default());
            *figures.verdicts.entry(verdict.to_owned()).or_default() += rate;
            zone.0 += rate;
            zone.1 += if matches!(verdict, "pass" | "log") { 0.0 } else { rate };
            figures.requests_per_second += rate;
        }
        figures.zones = zones
            .into_iter()
            .map(|(zone, (requests_per_second, stopped))| ZoneFigures {
                latency: quantiles(before, now, |of| of == zone).map(|[.., slowest]| slowest),
                stopped: if requests_per_second > 0.0 { stopped / requests_per_second } else { 0.0 },
                zone,
                requests_per_second,
            })
            .collect();
        figures.zones.sort_by(|one, other| other.requests_per_second.total_cmp(&one.requests_per_second));
        figures.origins = origins(now, rate);
        figures.gateways = gateways(now, rate);
        figures
    }
}

fn origins(now: &Scrape, rate: impl Fn(&str, &Labels, f64) -> f64) -> Vec<OriginFigures> {
    let rate_of = |name: &str, labels: &Labels| rate(name, labels, now.value(name, labels));
    let of = |(labels, up): &(Labels, f64)| {
        let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
        let answers_per_second = rate_of("portcullis_origin_response_seconds_count", labels);
        let seconds = rate_of("portcullis_origin_response_seconds_sum", labels);
        OriginFigures {
            zone: label("zone"),
            origin: label("origin"),
            is_up: *up > 0.0,
            answers_per_second,
            latency: (answers_per_second > 0.0).then(|| 1000.0 * seconds / answers_per_second),
        }
    };
    let mut origins: Vec<OriginFigures> = now.of("portcullis_origin_up").iter().map(of).collect();
    // Those that are down stand where they are seen, then the slowest.
    origins.sort_by(|one, other| {
        let slower = other.latency.unwrap_or(0.0).total_cmp(&one.latency.unwrap_or(0.0));
        one.is_up.cmp(&other.is_up).then(slower)
    });
    origins
}

fn gateways(now: &Scrape, rate: impl Fn(&str, &Labels, f64) -> f64) -> Vec<GatewayFigures> {
    const CALLS: &str = "portcullis_gateway_requests_total";
    let mut gateways: BTreeMap<&str, GatewayFigures> = BTreeMap::new();
    for (name, is) in [
        (CALLS, 0),
        ("gen_ai_client_inference_usage_input_tokens_total", 1),
        ("gen_ai_client_inference_usage_output_tokens_total", 2),
        ("gen_ai_client_cost_usd_total", 3),
    ] {
        for (labels, value) in now.of(name) {
            let Some(gateway) = labels.get("gateway") else { continue };
            let figures = gateways.entry(gateway).or_insert_with(|| GatewayFigures {
                gateway: gateway.clone(),
                calls_per_second: 0.0,
                input_tokens: 0.0,
                output_tokens: 0.0,
                cost: 0.0,
            });
            match is {
                0 => figures.calls_per_second += rate(name, labels, *value),
                1 => figures.input_tokens += value,
                2 => figures.output_tokens += value,
                _ => figures.cost += value,
            }
        }
    }
    gateways.into_values().collect()
}

/// How long half, 95 % and 99 % of the requests of some zones took at most, in milliseconds: the bounds of the buckets that
/// they are in.
fn quantiles(before: &Scrape, now: &Scrape, of: impl Fn(&str) -> bool) -> Option<[f64; 3]> {
    let mut buckets: Vec<(f64, f64)> = Vec::new();
    for (labels, value) in now.of(DURATION) {
        let zone = labels.get("zone").map_or("", String::as_str);
        let Some(bound) = labels.get("le").and_then(|bound| bound.parse::<f64>().ok()).filter(|_| of(zone))
        else {
            continue;
        };
        let earlier = before.value(DURATION, labels);
        let grown = value - if earlier > *value { 0.0 } else { earlier };
        match buckets.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, count)) => *count += grown,
            None => buckets.push((bound, grown)),
        }
    }
    buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let total = buckets.last().map(|(_, count)| *count).filter(|count| *count > 0.0)?;
    let longest = buckets.iter().rev().map(|(bound, _)| *bound).find(|bound| bound.is_finite())?;
    Some([0.5, 0.95, 0.99].map(|share| {
        let found = buckets.iter().find(|(_, count)| *count >= share * total);
        found.map_or(longest, |(bound, _)| bound.min(longest)) * 1000.0
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn scrape(at: u64, text: &str) -> Scrape {
        super::super::scrape::of_text(Duration::from_secs(at), text)
    }

    const BEFORE: &str = "portcullis_requests_total{status=\"200\",verdict=\"pass\",zone=\"a\"} 100\n\
        portcullis_request_duration_seconds_bucket{zone=\"a\",le=\"0.005\"} 90\n\
        portcullis_request_duration_seconds_bucket{zone=\"a\",le=\"0.01\"} 100\n\
        portcullis_request_duration_seconds_bucket{zone=\"a\",le=\"+Inf\"} 100\n";
    const NOW: &str = "portcullis_requests_total{status=\"200\",verdict=\"pass\",zone=\"a\"} 130\n\
        portcullis_requests_total{status=\"403\",verdict=\"block\",zone=\"a\"} 10\n\
        portcullis_requests_total{status=\"404\",verdict=\"pass\",zone=\"b\"} 2\n\
        portcullis_request_duration_seconds_bucket{zone=\"a\",le=\"0.005\"} 114\n\
        portcullis_request_duration_seconds_bucket{zone=\"a\",le=\"0.01\"} 139\n\
        portcullis_request_duration_seconds_bucket{zone=\"a\",le=\"+Inf\"} 140\n\
        portcullis_origin_up{origin=\"http://1\",zone=\"a\"} 1\nportcullis_origin_up{origin=\"http://2\",zone=\"a\"} 0\n\
        portcullis_origin_up{origin=\"http://3\",zone=\"a\"} 1\n\
        portcullis_origin_response_seconds_sum{origin=\"http://3\",zone=\"a\"} 0.2\n\
        portcullis_origin_response_seconds_count{origin=\"http://3\",zone=\"a\"} 10\n\
        portcullis_gateway_requests_total{gateway=\"g/m\",outcome=\"forwarded\",provider=\"p\"} 4\n";

    #[test]
    fn rates_and_latencies_are_those_of_the_interval() {
        let figures = Figures::between(&scrape(10, BEFORE), &scrape(12, NOW), TopFindings::default());
        assert_eq!(figures.requests_per_second, 21.0);
        assert_eq!(figures.statuses, [0.0, 15.0, 0.0, 6.0, 0.0]);
        assert_eq!((figures.verdicts["pass"], figures.verdicts["block"]), (16.0, 5.0));
        // Of 40 requests 24 took 5 ms at most, 39 took 10; one more than is counted.
        assert_eq!(figures.latency, Some([5.0, 10.0, 10.0]));
        let [a, b] = &figures.zones[..] else { panic!("{:?}", figures.zones) };
        assert_eq!(
            (a.zone.as_str(), a.requests_per_second, a.stopped, a.latency),
            ("a", 20.0, 0.25, Some(10.0))
        );
        assert_eq!((b.zone.as_str(), b.requests_per_second, b.latency), ("b", 1.0, None));
        assert_eq!(
            figures.origins.iter().map(|of| (of.origin.as_str(), of.is_up, of.latency)).collect::<Vec<_>>(),
            [("http://2", false, None), ("http://3", true, Some(20.0)), ("http://1", true, None)]
        );
        assert_eq!(figures.gateways[0].calls_per_second, 2.0);
    }

    #[test]
    fn an_edge_that_was_started_anew_counts_from_nothing() {
        let figures = Figures::between(&scrape(10, NOW), &scrape(12, BEFORE), TopFindings::default());
        assert_eq!(figures.requests_per_second, 50.0);
        let same = Figures::between(&scrape(10, NOW), &scrape(10, NOW), TopFindings::default());
        assert_eq!((same.requests_per_second, same.latency), (0.0, None));
    }
}
