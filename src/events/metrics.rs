//! Every metric, in one list. Label values come from configuration and from fixed words, so a
//! client cannot make new series.

use std::collections::HashMap;

use prometheus::{
    Encoder, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry, TextEncoder,
};

use super::gen_ai::GenAi;
use super::metric_builder::{Build, MetricDescription};
use super::rule_costs::RuleCosts;

pub struct Metrics {
    registry: Registry,
    /// zone, status, verdict
    pub requests: IntCounterVec,
    /// reason
    pub refusals: IntCounterVec,
    /// zone, action, result
    pub challenges: IntCounterVec,
    pub waf_duration: Histogram,
    pub waf_score: Histogram,
    pub rules_unfinished: IntCounter,
    /// rule
    pub rule_costs: RuleCosts,
    /// gateway, provider, outcome
    pub gateway_requests: IntCounterVec,
    /// gateway, provider
    pub gateway_duration: HistogramVec,
    pub scans: IntCounter,
    pub scan_bytes: IntCounter,
    /// reason
    pub scans_skipped: IntCounterVec,
    /// rule
    pub detections: IntCounterVec,
    pub snapshot_revision: IntGauge,
    pub snapshot_published: IntGauge,
    pub snapshots_refused: IntCounter,
    /// zone, origin
    pub origin_up: IntGaugeVec,
    /// zone, origin
    pub origin_response: HistogramVec,
    /// type, code, protocol
    pub dns_answers: IntCounterVec,
    /// zone, code
    pub dns_zone_answers: IntCounterVec,
    /// type, outcome
    pub zone_transfers: IntCounterVec,
    /// outcome
    pub zones_received: IntCounterVec,
    /// outcome
    pub zone_notifications: IntCounterVec,
    /// authority
    pub certificates_issued: IntCounterVec,
    /// cause
    pub certificates_failed: IntCounterVec,
    pub certificates_revoked: IntCounter,
    pub certificates_soonest_expiry: IntGauge,
    /// kind, state
    pub jobs: IntGaugeVec,
    /// row, mode
    pub deprecated_uses: IntCounterVec,
    /// row
    pub deprecation_days: IntGaugeVec,
    /// status
    pub hostnames_changed: IntCounterVec,
    pub connections: IntGauge,
    /// outcome
    pub connections_ended: IntCounterVec,
    pub held_bodies: IntGauge,
    pub bodies_uninspected: IntCounter,
    /// zone, status
    pub cache_lookups: IntCounterVec,
    pub cached_responses: IntGauge,
    pub cached_bytes: IntGauge,
    /// outcome
    pub block_list_lookups: IntCounterVec,
    /// outcome
    pub spans: IntCounterVec,
    pub call_spans: IntCounterVec,
    /// outcome
    pub exported_lines: IntCounterVec,
    pub log_lines_dropped: IntCounter,
    pub security_events_dropped: IntCounter,
    pub audit_records_lost: IntCounter,
    /// zone
    pub request_duration: HistogramVec,
    pub accepts_failed: IntCounter,
    pub workers_stuck: IntCounter,
    pub gen_ai: GenAi,
    /// reason
    pub ai_logs_dropped: IntCounterVec,
    /// All of these, without those of the process.
    described: Vec<MetricDescription>,
}

/// Upper bounds in seconds.
const WAF_SECONDS: &[f64] =
    &[0.000_01, 0.000_02, 0.000_04, 0.000_08, 0.000_16, 0.000_32, 0.001, 0.003, 0.01, 0.03, 0.1];
const WAF_SCORES: &[f64] = &[0.0, 2.0, 4.0, 5.0, 10.0, 15.0, 25.0, 40.0, 60.0, 100.0];
const REQUEST_SECONDS: &[f64] =
    &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
const ORIGIN_SECONDS: &[f64] = &[0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];
const GATEWAY_SECONDS: &[f64] = &[0.005, 0.02, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

impl Metrics {
    #[expect(clippy::too_many_lines, reason = "one table")]
    pub(super) fn new() -> Self {
        let registry = Registry::new();
        let build = Build::new(&registry);
        build
            .gauges("build_info", "1; which build this is.", &["version"])
            .with_label_values(&[env!("CARGO_PKG_VERSION")])
            .set(1);
        build.process();
        Self {
            requests: build.counters("requests_total", "Requests answered.", &["zone", "status", "verdict"]),
            refusals: build.counters("refusals_total", "Requests that Portcullis refused.", &["reason"]),
            challenges: build.counters(
                "challenges_total",
                "Challenges: issued, solved, failed (a solution that is none), passed (a request with a clearance).",
                &["zone", "action", "result"],
            ),
            waf_duration: build.histogram(
                "waf_duration_seconds",
                "Time spent in rules for a request.",
                WAF_SECONDS,
            ),
            waf_score: build.histogram("waf_score", "Anomaly score of a request.", WAF_SCORES),
            rules_unfinished: build.counter(
                "rules_unfinished_total",
                "Requests whose time for rules was over before the rules were.",
            ),
            rule_costs: RuleCosts::new(
                build.numbers(
                    "rule_sampled_seconds",
                    "Time spent in the slowest rules, in a sample of requests.",
                    &["rule"],
                ),
                build.numbers(
                    "rule_sampled_hits",
                    "Matches of a rule, of the same sample: the rules that match most.",
                    &["rule"],
                ),
                build.counter("rules_sampled_total", "Heads and bodies of requests whose rules were timed."),
            ),
            gateway_requests: build.counters(
                "gateway_requests_total",
                "Requests to AI gateways.",
                &["gateway", "provider", "outcome"],
            ),
            gateway_duration: build.histograms(
                "gateway_duration_seconds",
                "Time from a gateway request to the end of its answer.",
                GATEWAY_SECONDS,
                &["gateway", "provider"],
            ),
            scans: build.counter("scans_total", "Response bodies scanned for sensitive data."),
            scan_bytes: build.counter("scan_bytes_total", "Bytes scanned for sensitive data, decoded."),
            scans_skipped: build.counters("scans_skipped_total", "Response bodies not scanned.", &["reason"]),
            detections: build.counters("detections_total", "Sensitive data found in responses.", &["rule"]),
            snapshot_revision: build
                .gauge("snapshot_revision", "Number of the snapshot in use, from 1 at start."),
            snapshot_published: build
                .gauge("snapshot_published_timestamp_seconds", "When the snapshot in use was published."),
            snapshots_refused: build
                .counter("snapshots_refused_total", "Configurations that were refused while running."),
            dns_answers: build.counters(
                "dns_answers_total",
                "Answers to queries of resolvers.",
                &["type", "code", "protocol"],
            ),
            dns_zone_answers: build.counters(
                "dns_zone_answers_total",
                "Answers to queries of resolvers, by zone; `other` are those of zones past the first 500.",
                &["zone", "code"],
            ),
            zone_transfers: build.counters(
                "zone_transfers_total",
                "Zones that other name servers got, whole or as changes.",
                &["type", "outcome"],
            ),
            zones_received: build.counters(
                "zones_received_total",
                "Zones that came from other name servers, or could not be had.",
                &["outcome"],
            ),
            certificates_issued: build.counters(
                "certificates_issued_total",
                "Certificates that CAs made.",
                &["authority"],
            ),
            certificates_failed: build.counters(
                "certificates_failed_total",
                "Attempts after which there was no certificate.",
                &["cause"],
            ),
            certificates_revoked: build.counter(
                "certificates_revoked_total",
                "Packs whose certificates were revoked.",
            ),
            jobs: build.gauges(
                "jobs",
                "What the control plane has to do, now or later.",
                &["kind", "state"],
            ),
            certificates_soonest_expiry: build.gauge(
                "certificates_soonest_expiry_timestamp_seconds",
                "When the first of the certificates in use ends; 0 if there are none.",
            ),
            deprecated_uses: build.counters(
                "deprecated_uses_total",
                "Uses of what ends, by its row in the calendar and how it was served.",
                &["row", "mode"],
            ),
            deprecation_days: build.gauges(
                "deprecation_days",
                "Days until something that is in use ends.",
                &["row"],
            ),
            hostnames_changed: build.counters(
                "custom_hostnames_changed_total",
                "Custom hostnames that became another status.",
                &["status"],
            ),
            zone_notifications: build.counters(
                "zone_notifications_total",
                "Messages to other name servers that a zone has changed.",
                &["outcome"],
            ),
            origin_up: build.gauges("origin_up", "1 where an origin takes requests.", &["zone", "origin"]),
            origin_response: build.histograms(
                "origin_response_seconds",
                "Time from asking an origin to the head of its answer, its connection included.",
                ORIGIN_SECONDS,
                &["zone", "origin"],
            ),
            connections: build.gauge("connections", "Client connections open."),
            connections_ended: build.counters(
                "connections_ended_total",
                "Client connections by how they ended.",
                &["outcome"],
            ),
            held_bodies: build.gauge("held_bodies_bytes", "Bytes of requests and responses held until they are judged."),
            bodies_uninspected: build.counter(
                "bodies_uninspected_total",
                "Request bodies passed on though only their first part was inspected.",
            ),
            exported_lines: build.counters(
                "exported_log_lines_total",
                "Lines of the log for the collector, by what came of them.",
                &["outcome"],
            ),
            spans: build.counters("spans_total", "Spans for the collector, by what came of them.", &["outcome"]),
            call_spans: build.counters(
                "call_spans_total",
                "Spans of AI calls for collectors of gateways, by what came of them.",
                &["outcome"],
            ),
            cache_lookups: build.counters(
                "cache_requests_total",
                "Requests of zones that keep responses, by what came of it.",
                &["zone", "status"],
            ),
            cached_responses: build.gauge("cached_responses", "Responses kept."),
            cached_bytes: build.gauge("cached_responses_bytes", "Bytes that kept responses take."),
            block_list_lookups: build.counters(
                "block_list_lookups_total",
                "Look-ups of clients in block lists, by what came of them.",
                &["outcome"],
            ),
            security_events_dropped: build.counter(
                "security_events_dropped_total",
                "Security events that were not kept because their queue was full",
            ),
            log_lines_dropped: build.counter(
                "log_lines_dropped_total",
                "Log lines that did not fit the queue or could not be written.",
            ),
            audit_records_lost: build.counter(
                "audit_records_lost_total",
                "Records of the audit log that did not fit the queue or could not be written.",
            ),
            request_duration: build.histograms(
                "request_duration_seconds",
                "Time from the head of a request to the end of its answer.",
                REQUEST_SECONDS,
                &["zone"],
            ),
            accepts_failed: build.counter(
                "accepts_failed_total",
                "Connections that could not be accepted, for want of descriptors.",
            ),
            workers_stuck: build.counter(
                "workers_stuck_total",
                "Times that a worker was busy with the same task for seconds.",
            ),
            gen_ai: GenAi::new(&build),
            ai_logs_dropped: build.counters(
                "ai_logs_dropped_total",
                "Rows of the AI log that were lost.",
                &["reason"],
            ),
            described: build.described(),
            registry,
        }
    }

    /// All metrics, for the reference.
    pub fn descriptions() -> Vec<MetricDescription> {
        Self::new().described
    }

    /// Lets the series of zones go that there are no more.
    pub fn keep_zones(&self, is_there: impl Fn(&str) -> bool) {
        const ALWAYS: [&str; 4] = ["unknown", "gateway", "names", "other"];
        for family in self.registry.gather() {
            for metric in family.get_metric() {
                let labels: HashMap<&str, &str> =
                    metric.get_label().iter().map(|label| (label.name(), label.value())).collect();
                let is_gone = |zone: &&str| !ALWAYS.contains(zone) && !is_there(zone);
                if labels.get("zone").is_none_or(|zone| !is_gone(zone)) {
                    continue;
                }
                // What was removed meanwhile is gone all the same.
                let _ = match family.name() {
                    "portcullis_requests_total" => self.requests.remove(&labels),
                    "portcullis_request_duration_seconds" => self.request_duration.remove(&labels),
                    "portcullis_dns_zone_answers_total" => self.dns_zone_answers.remove(&labels),
                    "portcullis_cache_requests_total" => self.cache_lookups.remove(&labels),
                    "portcullis_origin_response_seconds" => self.origin_response.remove(&labels),
                    "portcullis_origin_up" => self.origin_up.remove(&labels),
                    _ => Ok(()),
                };
            }
        }
    }

    /// All metrics in Prometheus' text format.
    pub fn render(&self) -> Vec<u8> {
        self.rule_costs.show();
        let mut text = Vec::new();
        // Writing to a vector cannot fail, and the names were checked when they were registered.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_registers_and_renders() {
        let metrics = Metrics::new();
        metrics.requests.with_label_values(&["z", "200", "pass"]).inc();
        let text = String::from_utf8(metrics.render()).unwrap();
        assert!(
            text.contains("portcullis_requests_total{status=\"200\",verdict=\"pass\",zone=\"z\"} 1"),
            "{text}"
        );
    }
}
