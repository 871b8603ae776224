//! Metrics by the names of the telemetry conventions for generative AI, in one table.
//!
//! The conventions are in development (`open-telemetry/semantic-conventions-genai`, 2026); dots are
//! underscores here, units are suffixes. Models are named as the prices name them, others `other`.

use prometheus::{CounterVec, HistogramVec};

use super::metric_builder::Build;

pub struct GenAi {
    /// operation, provider, model, error
    pub duration: HistogramVec,
    /// operation, provider, model, token type
    pub tokens: HistogramVec,
    /// operation, provider, model
    pub first_chunk: HistogramVec,
    /// operation, provider, model
    pub per_token: HistogramVec,
    /// gateway, provider, model; so are those below
    pub input_tokens: CounterVec,
    pub output_tokens: CounterVec,
    pub cache_read_tokens: CounterVec,
    pub cache_write_tokens: CounterVec,
    pub reasoning_tokens: CounterVec,
    pub cost: CounterVec,
}

const SECONDS: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const TOKEN_SECONDS: &[f64] = &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

const CALL: &[&str] = &["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"];
const BY_GATEWAY: &[&str] = &["gateway", "gen_ai_provider_name", "gen_ai_request_model"];

impl GenAi {
    pub(super) fn new(build: &Build<'_>) -> Self {
        let with = |more: &'static str| [CALL, &[more]].concat();
        Self {
            duration: build.plain_histograms(
                "gen_ai_client_operation_duration_seconds",
                "Time from a call to the end of its answer.",
                SECONDS,
                &with("error_type"),
            ),
            tokens: build.plain_histograms(
                "gen_ai_client_token_usage",
                "Tokens of a call.",
                TOKENS,
                &with("gen_ai_token_type"),
            ),
            first_chunk: build.plain_histograms(
                "gen_ai_client_operation_time_to_first_chunk_seconds",
                "Time from a call to the first byte of a streamed answer.",
                SECONDS,
                CALL,
            ),
            per_token: build.plain_histograms(
                "gen_ai_server_time_per_output_token_seconds",
                "Time for each token of a streamed answer but the first.",
                TOKEN_SECONDS,
                CALL,
            ),
            input_tokens: build.plain_counters(
                "gen_ai_client_inference_usage_input_tokens_total",
                "Tokens read, those of caches among them.",
                BY_GATEWAY,
            ),
            output_tokens: build.plain_counters(
                "gen_ai_client_inference_usage_output_tokens_total",
                "Tokens made, reasoning among them.",
                BY_GATEWAY,
            ),
            cache_read_tokens: build.plain_counters(
                "gen_ai_client_inference_usage_cache_read_input_tokens_total",
                "Tokens read from caches of providers.",
                BY_GATEWAY,
            ),
            cache_write_tokens: build.plain_counters(
                "gen_ai_client_inference_usage_cache_write_input_tokens_total",
                "Tokens written to caches of providers.",
                BY_GATEWAY,
            ),
            reasoning_tokens: build.plain_counters(
                "gen_ai_client_inference_usage_reasoning_output_tokens_total",
                "Tokens of reasoning.",
                BY_GATEWAY,
            ),
            cost: build.plain_counters(
                "gen_ai_client_cost_usd_total",
                "Money spent, in US dollars.",
                BY_GATEWAY,
            ),
        }
    }
}
