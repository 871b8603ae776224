//! A call of an AI gateway ended: what it used.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::events::{Event, Level, Metrics};
use gateway::usage::Usage;
use model::AiLog;

#[derive(Debug)]
pub struct AiCall<'a> {
    pub log: &'a AiLog,
    pub usage: &'a Usage,
    /// `gen_ai.provider.name`
    pub telemetry_name: &'static str,
    /// The model's name in the prices, or `other`: the number of them is bounded.
    pub priced_model: &'a str,
    pub is_stream: bool,
    pub streamed_for: Duration,
    /// Whether the caller wants the call in the log.
    pub writes_line: bool,
}

impl Serialize for AiCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.log.serialize(serializer)
    }
}

impl Event for AiCall<'_> {
    const NAME: &'static str = "ai_call";
    const MESSAGE: &'static str = "AI call ended";
    const LEVEL: Level = Level::Info;

    fn is_written(&self) -> bool {
        self.writes_line
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
    fn count(&self, metrics: &Metrics) {
        let log = self.log;
        let labels = [log.model_type.as_str(), self.telemetry_name, self.priced_model];
        let [operation, provider, model] = labels;
        let error = log.error.as_deref().unwrap_or("");
        let gen_ai = &metrics.gen_ai;
        gen_ai
            .duration
            .with_label_values(&[operation, provider, model, error])
            .observe(log.duration / 1000.0);
        for (kind, tokens) in [("input", self.usage.input), ("output", self.usage.output)] {
            let Some(tokens) = tokens else { continue };
            gen_ai.tokens.with_label_values(&[operation, provider, model, kind]).observe(tokens as f64);
        }
        let gateway = format!("{}/{}", log.account_id, log.gateway_id);
        let by_gateway = [gateway.as_str(), provider, model];
        for (counter, tokens) in [
            (&gen_ai.input_tokens, self.usage.input),
            (&gen_ai.output_tokens, self.usage.output),
            (&gen_ai.cache_read_tokens, self.usage.cache_read),
            (&gen_ai.cache_write_tokens, self.usage.cache_write),
            (&gen_ai.reasoning_tokens, self.usage.reasoning),
        ] {
            if let Some(tokens) = tokens {
                counter.with_label_values(&by_gateway).inc_by(tokens as f64);
            }
        }
        if let Some(cost) = log.cost {
            gen_ai.cost.with_label_values(&by_gateway).inc_by(cost);
        }
        if self.is_stream
            && let Some(first) = log.time_to_first_byte
        {
            gen_ai.first_chunk.with_label_values(&labels).observe(first / 1000.0);
            if let Some(tokens) = self.usage.output.filter(|tokens| *tokens > 1) {
                let each = self.streamed_for.as_secs_f64() / (tokens - 1) as f64;
                gen_ai.per_token.with_label_values(&labels).observe(each);
            }
        }
    }
}
