//! What a call costs: an operator's own prices, else those of the `genai-prices` package.
//!
//! Money is in 10⁻⁹ US dollars, whole. A model without a price costs `None`, never 0.

use std::collections::BTreeMap;

use genai_prices::{Calculator, PriceRequest, UsageKey};
use serde::Deserialize;

use super::usage::Usage;

/// Prices of one snapshot.
#[derive(Debug, Default)]
pub struct Prices {
    /// By model; `provider/model` wins over `model`.
    own: BTreeMap<String, OwnPrice>,
}

/// Dollars a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct OwnPrice {
    input_cost_per_token: f64,
    output_cost_per_token: f64,
    cache_read_input_token_cost: Option<f64>,
    cache_creation_input_token_cost: Option<f64>,
    output_cost_per_reasoning_token: Option<f64>,
}

/// A price that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    pub nanos: u64,
    /// The model by the name it has in the prices: the number of them is bounded.
    pub model: String,
}

impl Prices {
    /// Reads an operator's file: an object of models, each with its costs in dollars a token, such as
    /// `{"m": {"input_cost_per_token": 0.000001, "output_cost_per_token": 0.000002}}`.
    ///
    /// # Errors
    /// One sentence if it is not of that form or a cost is negative.
    pub fn parse(text: &str) -> Result<Self, String> {
        let own: BTreeMap<String, OwnPrice> =
            serde_json::from_str(text).map_err(|error| format!("expected prices by model: {error}"))?;
        for (model, price) in &own {
            let costs = [
                Some(price.input_cost_per_token),
                Some(price.output_cost_per_token),
                price.cache_read_input_token_cost,
                price.cache_creation_input_token_cost,
                price.output_cost_per_reasoning_token,
            ];
            if costs.iter().flatten().any(|cost| !(0.0..1e3).contains(cost)) {
                return Err(format!("a cost of `{model}` is not between 0 and 1000 dollars a token"));
            }
        }
        Ok(Self { own })
    }

    /// What a call costs. What the provider itself reports wins.
    pub fn cost(
        &self,
        provider: &str,
        model: &str,
        usage: &Usage,
        service_tier: Option<&str>,
    ) -> Option<Cost> {
        let own = self.own.get(&format!("{provider}/{model}")).or_else(|| self.own.get(model));
        if let Some(price) = own {
            return Some(Cost { nanos: nanos(price.of(usage))?, model: model.to_owned() });
        }
        let known = bundled(provider, model, usage, service_tier);
        match (usage.reported_cost_nanos, known) {
            (Some(nanos), Some(known)) => Some(Cost { nanos, ..known }),
            (Some(nanos), None) => Some(Cost { nanos, model: "other".to_owned() }),
            (None, known) => known,
        }
    }
}

impl Prices {
    /// What the list of prices calls a model, whatever version or spelling of it is asked; `None` if it has no price.
    pub fn name(&self, provider: &str, model: &str) -> Option<String> {
        self.cost(provider, model, &Usage::of_tokens(1, 1), None).map(|cost| cost.model)
    }

    /// The most a call may cost, in 10⁻⁹ dollars, saturating. `None` for a model without a price.
    pub fn at_most(
        &self,
        provider: &str,
        model: &str,
        usage: &Usage,
        service_tier: Option<&str>,
    ) -> Option<u64> {
        let cost = |usage: &Usage| self.cost(provider, model, usage, service_tier).map(|cost| cost.nanos);
        cost(usage).or_else(|| cost(&Usage::of_tokens(1, 1)).map(|_| u64::MAX))
    }
}

impl OwnPrice {
    #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
    fn of(&self, usage: &Usage) -> f64 {
        let count = |tokens: Option<u64>| tokens.unwrap_or(0) as f64;
        let (read, write) = (count(usage.cache_read), count(usage.cache_write));
        let plain_input = (count(usage.input) - read - write).max(0.0);
        let reasoning = count(usage.reasoning);
        let plain_output = (count(usage.output) - reasoning).max(0.0);
        plain_input * self.input_cost_per_token
            + read * self.cache_read_input_token_cost.unwrap_or(self.input_cost_per_token)
            + write * self.cache_creation_input_token_cost.unwrap_or(self.input_cost_per_token)
            + plain_output * self.output_cost_per_token
            + reasoning * self.output_cost_per_reasoning_token.unwrap_or(self.output_cost_per_token)
    }
}

/// Reads the prices of the package, so that no call waits for it: it takes tens of milliseconds, once.
pub fn load() {
    let _ = Calculator::bundled();
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
fn bundled(provider: &str, model: &str, usage: &Usage, service_tier: Option<&str>) -> Option<Cost> {
    if model.is_empty() || !usage.is_known() {
        return None;
    }
    let mut counts = genai_prices::Usage::new();
    for (key, tokens) in [
        (UsageKey::from("input_tokens"), usage.input),
        (UsageKey::from("output_tokens"), usage.output),
        (UsageKey::from("cache_read_tokens"), usage.cache_read),
        (UsageKey::from("cache_write_tokens"), usage.cache_write),
    ] {
        if let Some(tokens) = tokens.filter(|tokens| *tokens > 0) {
            counts.insert(key, tokens as f64);
        }
    }
    let mut request = PriceRequest::new(model, &counts);
    if let Some(id) = price_id(provider) {
        request = request.with_provider_id(id);
    }
    if let Some(tier) = service_tier.filter(|tier| *tier != "default" && *tier != "auto") {
        request = request.with_price_context("service_tier", tier);
    }
    let found = Calculator::bundled().calculate(&request).ok()?;
    Some(Cost { nanos: nanos(found.total_price)?, model: found.model_id })
}

/// What the package calls a provider.
fn price_id(slug: &str) -> Option<&'static str> {
    const IDS: &[(&str, &str)] = &[
        ("anthropic", "anthropic"),
        ("aws-bedrock", "aws"),
        ("azure-openai", "azure"),
        ("baseten", "baseten"),
        ("cerebras", "cerebras"),
        ("cohere", "cohere"),
        ("deepseek", "deepseek"),
        ("elevenlabs", "elevenlabs"),
        ("fireworks", "fireworks"),
        ("google-ai-studio", "google"),
        ("google-vertex-ai", "google"),
        ("grok", "x-ai"),
        ("groq", "groq"),
        ("mistral", "mistral"),
        ("openai", "openai"),
        ("openrouter", "openrouter"),
        ("perplexity-ai", "perplexity"),
    ];
    IDS.iter().find(|(known, _)| *known == slug).map(|(_, id)| *id)
}

/// Whole 10⁻⁹ dollars.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be small and positive"
)]
pub(crate) fn nanos(dollars: f64) -> Option<u64> {
    (0.0..1e9).contains(&dollars).then(|| (dollars * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, cache_read: u64) -> Usage {
        Usage { input: Some(input), output: Some(output), cache_read: Some(cache_read), ..Usage::default() }
    }

    #[test]
    fn prices_of_the_package() {
        let prices = Prices::default();
        let of = |provider: &str, model: &str, usage: &Usage| {
            prices.cost(provider, model, usage, None).map(|cost| cost.nanos)
        };
        // 2.50 dollars a million in, 10 out.
        assert_eq!(of("openai", "gpt-4o", &usage(1000, 100, 0)), Some(3_500_000));
        // What came from a cache is cheaper, not dearer.
        assert!(of("openai", "gpt-4o", &usage(1000, 100, 800)) < Some(3_500_000));
        assert!(of("anthropic", "claude-sonnet-4-5", &usage(1000, 100, 0)).is_some());
        assert_eq!(of("openai", "no-such-model", &usage(1, 1, 0)), None);
        assert_eq!(of("openai", "gpt-4o", &Usage::default()), None);
    }

    #[test]
    fn an_operators_prices_win() {
        let prices = Prices::parse(
            r#"{"m":{"input_cost_per_token":0.000001,"output_cost_per_token":0.000002,"cache_read_input_token_cost":0.0000001},
                "openai/m":{"input_cost_per_token":0.5,"mode":"chat"}}"#,
        )
        .unwrap();
        assert_eq!(prices.cost("groq", "m", &usage(10, 5, 4), None).unwrap().nanos, 6_000 + 400 + 10_000);
        assert_eq!(prices.cost("openai", "m", &usage(2, 5, 0), None).unwrap().nanos, 1_000_000_000);
        for bad in ["[]", "{\"m\":5}", "{\"m\":{\"input_cost_per_token\":-1}}"] {
            assert!(Prices::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_provider_reports_wins() {
        let reported = Usage { reported_cost_nanos: Some(7), ..usage(1, 1, 0) };
        let cost = Prices::default().cost("openrouter", "x/unknown", &reported, None).unwrap();
        assert_eq!((cost.nanos, cost.model.as_str()), (7, "other"));
    }
}
