//! The elements of a graph, each as one object of the list.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{Dimension, Limit, Measure, Technique};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::condition::RouteCondition;
use super::field_path::{FieldPath, RouteFacts};
use super::graph::{Faults, RouteFault};
use crate::metadata::Metadata;
use crate::provider;

/// Most attempts of a model but for the first.
const MAX_RETRIES: u32 = 5;
/// Longest wait for the first byte of an answer, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;
/// Longest window of a limit: a year, in seconds.
const MAX_WINDOW_SECONDS: u64 = 31_536_000;
/// Most shares of a split but for `else`.
const MAX_SHARES: usize = 5;
/// Longest value that counters keep as it is, in bytes.
const MAX_VALUE_BYTES: usize = 128;
/// What shares may differ from 100 by, because a third has no end.
const ROUNDING: f64 = 0.01;

/// The place of an element in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementIndex(pub(super) usize);

/// What is done at a place of a graph.
#[derive(Clone, Debug)]
pub(super) enum RouteElement {
    Start(ElementIndex),
    Conditional {
        condition: RouteCondition,
        yes: ElementIndex,
        no: ElementIndex,
    },
    /// Each share as where it ends between 0 and 100; the last takes what is left.
    Split(Vec<(f64, ElementIndex)>),
    Limit(RouteLimit),
    Model(RouteModel),
    End,
}

/// A limit of requests or money that has a counter for each value of a field.
#[derive(Clone, Debug)]
pub struct RouteLimit {
    pub id: String,
    pub field: FieldPath,
    pub limit: Limit,
    pub success: ElementIndex,
    /// Where calls above it go; refused if there is none.
    pub fallback: Option<ElementIndex>,
}

impl RouteLimit {
    /// The value that a call is counted by, under the key that the limit names. A long one stands for itself by its hash.
    pub fn value(&self, facts: &RouteFacts<'_>) -> Metadata {
        let mut metadata = Metadata::default();
        if let (Some(Dimension::Metadata(key)), Some(value)) =
            (self.limit.by.first(), self.field.value(facts))
        {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let text = match text.len() {
                0..=MAX_VALUE_BYTES => text,
                _ => URL_SAFE_NO_PAD.encode(Sha256::digest(text)),
            };
            metadata.entries.insert(key.clone(), text.into());
        }
        metadata
    }
}

/// A model that is asked.
#[derive(Clone, Debug)]
pub struct RouteModel {
    pub id: String,
    pub provider: String,
    pub model: String,
    /// For the first byte of an answer; zero for the gateway's own.
    pub timeout: Duration,
    pub attempts: u32,
    /// Where calls go that it does not answer well; its answer is the last one if there is none.
    pub fallback: Option<ElementIndex>,
}

/// One object of the list while it is read.
pub(super) struct ElementReader<'v, 'f> {
    pub(super) object: &'v Map<String, Value>,
    pub(super) pointer: String,
    pub(super) by_id: &'v HashMap<&'v str, ElementIndex>,
    pub(super) faults: &'f mut Faults,
}

impl<'v> ElementReader<'v, '_> {
    /// What the element is; one with faults is an end.
    pub(super) fn element(&mut self) -> RouteElement {
        let kind = self.object.get("type").and_then(Value::as_str);
        let read = match kind {
            Some("start") => self.output("next").map(RouteElement::Start),
            Some("conditional") => self.conditional(),
            Some("percentage") => self.split(),
            Some("rate") => self.limit().map(RouteElement::Limit),
            Some("model") => self.model().map(RouteElement::Model),
            Some("end") => Some(RouteElement::End),
            _ => {
                let message =
                    "expected `start`, `conditional`, `percentage`, `rate`, `model` or `end` as the `type`";
                self.fault("/type", message);
                None
            }
        };
        read.unwrap_or(RouteElement::End)
    }

    fn fault(&mut self, below: &str, message: impl Into<String>) {
        self.faults.push(RouteFault::new(&format!("{}{below}", self.pointer), message));
    }

    fn id(&self) -> String {
        self.object.get("id").and_then(Value::as_str).unwrap_or("").to_owned()
    }

    fn property(&self, name: &str) -> Option<&'v Value> {
        self.object.get("properties")?.get(name).filter(|value| !value.is_null())
    }

    /// The element that an output names.
    fn target(&mut self, name: &str, output: &Value) -> Option<ElementIndex> {
        let id = output.get("elementId").and_then(Value::as_str);
        let found = id.and_then(|id| self.by_id.get(id)).copied();
        if found.is_none() {
            let below = format!("/outputs/{name}/elementId");
            self.fault(&below, format!("expected the id of an element, found `{}`", id.unwrap_or("")));
        }
        found
    }

    fn output_if_any(&mut self, name: &str) -> Option<ElementIndex> {
        let output = self.object.get("outputs")?.get(name).filter(|output| !output.is_null())?;
        self.target(name, output)
    }

    fn output(&mut self, name: &str) -> Option<ElementIndex> {
        let outputs = self.object.get("outputs");
        if outputs.and_then(|outputs| outputs.get(name)).is_none_or(Value::is_null) {
            self.fault(&format!("/outputs/{name}"), format!("the output `{name}` is required"));
            return None;
        }
        self.output_if_any(name)
    }

    fn conditional(&mut self) -> Option<RouteElement> {
        // The second name is that of older clients.
        let (name, conditions) = match self.property("conditions") {
            Some(conditions) => ("conditions", conditions),
            None => ("condition", self.property("condition").unwrap_or(&Value::Null)),
        };
        let pointer = format!("{}/properties/{name}", self.pointer);
        let condition = RouteCondition::parse(conditions, &pointer, 0, self.faults);
        let (yes, no) = (self.output("true"), self.output("false"));
        Some(RouteElement::Conditional { condition, yes: yes?, no: no? })
    }

    fn split(&mut self) -> Option<RouteElement> {
        let outputs = self.object.get("outputs").and_then(Value::as_object)?;
        let (mut shares, mut end, mut rest) = (Vec::new(), 0.0, None);
        for (name, output) in outputs {
            let target = self.target(name, output);
            if name == "else" {
                rest = target;
                continue;
            }
            let percent = name.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
            match percent.filter(|percent| (0.0..=100.0).contains(percent)) {
                Some(percent) => {
                    end += percent;
                    shares.extend(target.map(|target| (end, target)));
                }
                None => {
                    let message = format!("expected a share such as `10%`, or `else`, found `{name}`");
                    self.fault(&format!("/outputs/{name}"), message);
                }
            }
        }
        if shares.len() > MAX_SHARES {
            self.fault("/outputs", format!("expected at most {MAX_SHARES} shares"));
        }
        if end > 100.0 + ROUNDING || (rest.is_none() && end < 100.0 - ROUNDING) {
            self.fault("/outputs", format!("shares make 100 % or have an `else`; found {end} %"));
        }
        shares.extend(rest.map(|rest| (100.0, rest)));
        (!shares.is_empty()).then_some(RouteElement::Split(shares))
    }

    fn limit(&mut self) -> Option<RouteLimit> {
        let key = self.property("key").and_then(Value::as_str).unwrap_or("");
        let field = FieldPath::parse(key);
        if field.is_none() {
            let message =
                format!("expected `metadata.KEY`, `headers.NAME`, `body.MEMBER` or `token`, found `{key}`");
            self.fault("/properties/key", message);
        }
        let measure = match self.property("limitType").and_then(Value::as_str) {
            Some("count") => Some(Measure::Requests),
            Some("cost") => Some(Measure::Cost),
            _ => {
                self.fault("/properties/limitType", "expected `count` or `cost`");
                None
            }
        };
        let amount = self.property("limit").and_then(Value::as_f64);
        let limit = measure.and_then(|measure| measure.amount(amount?));
        if limit.is_none() && measure.is_some() {
            self.fault(
                "/properties/limit",
                "expected a whole number of requests, or dollars below 1000000000; 0 or more",
            );
        }
        // Two names of one thing, by clients of different ages.
        let name = if self.property("window").is_some() { "window" } else { "interval" };
        let seconds = self.property(name).and_then(whole).filter(|n| (1..=MAX_WINDOW_SECONDS).contains(n));
        if seconds.is_none() {
            self.fault(&format!("/properties/{name}"), "expected a window of 1 to 31536000 seconds");
        }
        let technique = match self.property("technique").and_then(Value::as_str) {
            Some("sliding") => Technique::Sliding,
            _ => Technique::Fixed,
        };
        let (success, fallback) = (self.output("success"), self.output_if_any("fallback"));
        let limit = Limit {
            only: Vec::new(),
            by: vec![Dimension::Metadata(key.to_owned())],
            measure: measure?,
            limit: limit?,
            interval: Duration::from_secs(seconds?),
            technique,
        };
        Some(RouteLimit { id: self.id(), field: field?, limit, success: success?, fallback })
    }

    fn model(&mut self) -> Option<RouteModel> {
        let text = |value: Option<&'v Value>| value.and_then(Value::as_str).filter(|text| !text.is_empty());
        let (slug, model) = (text(self.property("provider")), text(self.property("model")));
        if model.is_none() {
            self.fault("/properties/model", "expected the name of a model");
        }
        match slug {
            Some(slug) if provider::find(slug).is_some_and(|known| known.compatible_chat.is_none()) => {
                let message = format!("`{slug}` does not take chat completions in the form of routes");
                self.fault("/properties/provider", message);
            }
            Some(provider::COMPAT | super::PREFIX) | None => {
                self.fault("/properties/provider", "expected the slug of a provider");
            }
            Some(_) => {}
        }
        let timeout = self.property("timeout").map_or(Some(0), whole).filter(|ms| *ms <= MAX_TIMEOUT_MS);
        if timeout.is_none() {
            self.fault("/properties/timeout", "expected 0 to 600000 milliseconds");
        }
        let retries = self.property("retries").map_or(Some(0), whole);
        let retries = retries.and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= MAX_RETRIES);
        if retries.is_none() {
            self.fault("/properties/retries", format!("expected 0 to {MAX_RETRIES} attempts more"));
        }
        // Where it leads to is the graph's to check: an answer that has begun cannot go on elsewhere.
        let (_, fallback) = (self.output("success"), self.output_if_any("fallback"));
        Some(RouteModel {
            id: self.id(),
            provider: slug?.to_owned(),
            model: model?.to_owned(),
            timeout: Duration::from_millis(timeout?),
            attempts: 1 + retries?,
            fallback,
        })
    }

    /// Where the answer of a model goes.
    pub(super) fn success(&self) -> Option<ElementIndex> {
        let id = self.object.get("outputs")?.get("success")?.get("elementId")?.as_str()?;
        self.by_id.get(id).copied()
    }
}

/// A whole number, also written as `5.0`.
fn whole(value: &Value) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    let of_float =
        |number: f64| (number.fract() == 0.0 && (0.0..1e15).contains(&number)).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(of_float))
}
