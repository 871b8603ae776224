//! The budgets of a gateway: as bodies write them, and as answers show them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::gateway::GatewaySettings;
use model::limit::MAX_LIMIT_FILTERS;
use model::{Dimension, Limit, LimitFilter, Measure, SpendLimit, SpendLimits, Technique};
use serde::{Deserialize, Serialize};

use super::gateway_settings::{MAX_LIMITS, MAX_SECONDS};
use crate::api::error;
use crate::api::input::Fields;

/// Longest id of a budget, in bytes.
const MAX_ID_BYTES: usize = 64;

/// What a budget says of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DimensionMode {
    /// Each value has a counter of its own.
    Partition,
    /// Calls with these values are counted.
    Filter,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownSpendLimits<'a> {
    enabled: bool,
    rules: Vec<ShownSpendLimit<'a>>,
}

#[derive(Debug, Serialize)]
struct ShownSpendLimit<'a> {
    id: &'a str,
    enabled: bool,
    /// In dollars.
    limit: f64,
    #[serde(rename = "limitType")]
    limit_type: Measure,
    /// In seconds.
    window: u64,
    technique: Technique,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ShownDimension<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<ShownDimension<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<&'a str, ShownDimension<'a>>,
}

#[derive(Debug, Serialize)]
struct ShownDimension<'a> {
    mode: DimensionMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [String]>,
}

/// The budgets of a gateway; nothing if nobody wrote any.
pub(super) fn shown(settings: &GatewaySettings) -> Option<ShownSpendLimits<'_>> {
    let SpendLimits { is_enabled, rules } = &settings.spend_limits;
    (*is_enabled || !rules.is_empty())
        .then(|| ShownSpendLimits { enabled: *is_enabled, rules: rules.iter().map(shown_rule).collect() })
}

#[expect(clippy::cast_precision_loss, reason = "budgets are far below the numbers that a float has whole")]
fn shown_rule(rule: &SpendLimit) -> ShownSpendLimit<'_> {
    let SpendLimit { id, is_enabled, limit } = rule;
    let mut shown = ShownSpendLimit {
        id,
        enabled: *is_enabled,
        limit: limit.limit as f64 / 1e9,
        limit_type: limit.measure,
        window: limit.interval.as_secs(),
        technique: limit.technique,
        model: None,
        provider: None,
        metadata: BTreeMap::new(),
    };
    let filters =
        limit.only.iter().map(|filter| (&filter.dimension, DimensionMode::Filter, Some(&*filter.values)));
    let partitions = limit.by.iter().map(|dimension| (dimension, DimensionMode::Partition, None));
    for (dimension, mode, values) in filters.chain(partitions) {
        let of_dimension = ShownDimension { mode, values };
        match dimension {
            Dimension::Model => shown.model = Some(of_dimension),
            Dimension::Provider => shown.provider = Some(of_dimension),
            Dimension::Metadata(key) => drop(shown.metadata.insert(key, of_dimension)),
            // INVARIANT: no budget is written by token.
            Dimension::Token => {}
        }
    }
    shown
}

/// Reads the budgets of a body; those that it does not have stay, `null` takes them away.
pub(super) fn read(fields: &Fields<'_>, settings: &mut GatewaySettings) {
    if !fields.has("spend_limits") {
        return;
    }
    settings.spend_limits = SpendLimits::default();
    let Some(fields) = fields.object("spend_limits") else { return };
    settings.spend_limits.is_enabled = fields.bool("enabled").unwrap_or(true);
    let written = fields.objects("rules").unwrap_or_default();
    if written.len() > MAX_LIMITS {
        fields.refuse(error::BAD_FIELD, "rules", format!("a gateway has at most {MAX_LIMITS} budgets"));
        return;
    }
    let given: BTreeSet<&str> = written.iter().filter_map(|rule| rule.text("id")).collect();
    let mut free = (1..).map(|nth| format!("rule-{nth}")).filter(|id| !given.contains(id.as_str()));
    let rules = &mut settings.spend_limits.rules;
    for fields in &written {
        let id = fields.text("id").map(str::to_owned).or_else(|| free.next()).unwrap_or_default();
        if !(1..=MAX_ID_BYTES).contains(&id.len()) || rules.iter().any(|known| known.id == id) {
            let message = format!(
                "expected 1 to {MAX_ID_BYTES} bytes that no other budget of the gateway has for its id"
            );
            fields.refuse(error::BAD_FIELD, "id", message);
        }
        let is_enabled = fields.bool("enabled").unwrap_or(true);
        rules.extend(limit(fields).map(|limit| SpendLimit { id, is_enabled, limit }));
    }
}

fn limit(fields: &Fields<'_>) -> Option<Limit> {
    if fields.text("limitType") != Some("cost") {
        fields.refuse(error::BAD_FIELD, "limitType", "expected `cost`; `limits` takes other measures");
    }
    let number = fields.value("limit").and_then(serde_json::Value::as_f64);
    let amount = number.and_then(|dollars| Measure::Cost.amount(dollars));
    if amount.is_none() {
        fields.refuse(error::BAD_FIELD, "limit", "expected dollars; 0 or more");
    }
    let window = fields.within("window", 1..=MAX_SECONDS);
    if fields.value("window").is_none() {
        fields.refuse(error::BAD_FIELD, "window", "`window` is required, in seconds");
    }
    let mut limit = Limit {
        by: Vec::new(),
        only: Vec::new(),
        measure: Measure::Cost,
        limit: amount.unwrap_or(0),
        interval: Duration::from_secs(window.unwrap_or(0).unsigned_abs()),
        technique: fields.word("technique", error::BAD_FIELD).unwrap_or_default(),
    };
    for (name, dimension) in [("model", Dimension::Model), ("provider", Dimension::Provider)] {
        if let Some(fields) = fields.object(name) {
            take(&fields, dimension, &mut limit);
        }
    }
    for (key, value) in fields.named_objects("metadata").unwrap_or_default() {
        match key.is_empty() {
            true => fields.refuse(error::BAD_FIELD, "metadata", "expected keys that are not empty"),
            false => take(&value, Dimension::Metadata(key), &mut limit),
        }
    }
    if limit.by.len() + limit.only.len() > MAX_LIMIT_FILTERS {
        let message = format!("a budget has at most {MAX_LIMIT_FILTERS} dimensions");
        fields.refuse(error::BAD_FIELD, "metadata", message);
    }
    (amount.is_some() && window.is_some()).then_some(limit)
}

/// Takes what a budget says of a dimension.
fn take(fields: &Fields<'_>, dimension: Dimension, limit: &mut Limit) {
    let values = fields.texts("values");
    match (fields.word("mode", error::BAD_FIELD), values) {
        (Some(DimensionMode::Partition), None) => limit.by.push(dimension),
        (Some(DimensionMode::Partition), Some(_)) => {
            fields.refuse(error::BAD_FIELD, "values", "a partition has no values: each has its own counter");
        }
        (Some(DimensionMode::Filter), values) => {
            match LimitFilter::new(dimension, values.unwrap_or_default()) {
                Ok(filter) => limit.only.push(filter),
                Err(message) => fields.refuse(error::BAD_FIELD, "values", message),
            }
        }
        (None, _) if fields.value("mode").is_none() => {
            fields.refuse(error::BAD_FIELD, "mode", "expected `filter` or `partition`");
        }
        (None, _) => {}
    }
}
