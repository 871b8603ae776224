//! What a call may use of its gateway's limits, before it is known what it uses.

use bytes::Bytes;

use ::gateway::limit::{Amounts, Caller, Estimate};
use ::gateway::options::Options;
use ::gateway::price::Prices;
use ::gateway::usage::{self, BYTES_PER_TOKEN};
use model::gateway::GatewaySettings;
use model::{Dimension, Limit, Measure, TokenId};

/// What an answer is taken to use at most if the request does not bound it.
const UNBOUNDED_ANSWER_TOKENS: u64 = 32_768;
/// Told to a client whose call cannot be judged by a limit of money.
const UNPRICED: &str = "this gateway limits what calls cost, and this call has no price that is known before it: \
                        name one model that has one";

/// What a call asks for, and the limits that it is to meet.
pub(super) struct Asking<'c> {
    pub(super) limits: Vec<&'c Limit>,
    pub(super) options: &'c Options,
    pub(super) settings: &'c GatewaySettings,
    pub(super) token: Option<&'c TokenId>,
    /// Its slug.
    pub(super) provider: &'c str,
    pub(super) path: &'c str,
}

/// What is known of a call before it goes out.
#[derive(Debug, Default)]
pub(super) struct Estimated {
    /// As [`Caller::model`].
    pub(super) model: Option<String>,
    /// As [`Caller::priced_model`].
    pub(super) priced_model: Option<String>,
    pub(super) estimate: Estimate,
}

/// What a call may use of its limits, by its decoded body, and the model that it asks for. Inside, why that
/// cannot be known.
pub(super) fn estimate(
    asking: &Asking<'_>,
    body: Option<&Bytes>,
    method: &http::Method,
    prices: &Prices,
) -> Result<Estimated, String> {
    let Asking { limits, options, settings, token, provider, path } = asking;
    if !limits.iter().any(|limit| limit.needs_body()) {
        return Ok(Estimated::default());
    }
    // What only reads is not billed.
    let reads =
        *method == http::Method::GET || *method == http::Method::HEAD || *method == http::Method::DELETE;
    if reads && body.is_some_and(Bytes::is_empty) {
        return Ok(Estimated { model: Some(String::new()), ..Estimated::default() });
    }
    let asked = match body {
        Some(body) => usage::billable(path, body)?,
        // A WebSocket.
        None => usage::Billable::default(),
    };
    let attempts = u64::from(options.max_attempts.unwrap_or(settings.retry_max_attempts).max(1));
    let bytes = body.map_or(0, |body| body.len() as u64);
    let (least_output, most_output) =
        asked.output_tokens.map_or((0, UNBOUNDED_ANSWER_TOKENS), |bound| (bound, bound));
    let least_input = bytes.div_ceil(BYTES_PER_TOKEN);
    // No provider makes more tokens of a text than it has bytes.
    let most_input = bytes.saturating_add(asked.input_elsewhere_tokens);
    let least = usage::Usage::of_tokens(least_input, least_output);
    let most = usage::Usage::of_tokens(most_input, most_output);
    let mut estimate = Estimate {
        least: Amounts { tokens: least.tokens(), cost_nanos: 0 },
        most: Amounts { tokens: most.tokens().saturating_mul(attempts), cost_nanos: 0 },
    };
    let asks_model = |limit: &&Limit| limit.only.iter().any(|filter| filter.dimension == Dimension::Model);
    // Whoever names no model gets the provider's own choice.
    let named = asked.model.clone().filter(|model| !model.trim().is_empty());
    let priced = named.as_deref().filter(|_| limits.iter().any(asks_model));
    let priced_model = priced.and_then(|model| prices.name(provider, model));
    let caller = Caller {
        gateway: "",
        token: token.map(TokenId::as_str),
        provider,
        model: named.as_deref(),
        priced_model: priced_model.as_deref(),
        metadata: &options.metadata,
    };
    if limits.iter().any(|limit| limit.measure == Measure::Cost && caller.is_counted_by(limit)) {
        let model = asked.model.as_deref().unwrap_or("");
        let caller_price = options.custom_cost.filter(|_| settings.caller_prices);
        let price = |usage: &usage::Usage| match caller_price {
            Some(price) => Some(price.of(usage)),
            None => prices.at_most(provider, model, usage, asked.service_tier.as_deref()),
        };
        match (price(&least), price(&most), settings.unpriced_call_nanos) {
            (Some(least), Some(most), _) if asked.is_read || caller_price.is_some() => {
                estimate.least.cost_nanos = least;
                estimate.most.cost_nanos = most.saturating_mul(attempts);
            }
            (_, _, Some(nanos)) => {
                estimate.least.cost_nanos = nanos;
                estimate.most.cost_nanos = nanos.saturating_mul(attempts);
            }
            (_, _, None) => return Err(UNPRICED.to_owned()),
        }
    }
    Ok(Estimated { model: named, priced_model, estimate })
}
