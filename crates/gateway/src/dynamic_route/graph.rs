//! The graph of a route: read and checked as a whole, and walked for each call.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::element::{ElementIndex, ElementReader, RouteElement, RouteLimit, RouteModel};
use super::field_path::RouteFacts;

/// Most elements of a route.
const MAX_ELEMENTS: usize = 100;
/// Most models of a route, and most that routes ask for one request.
pub const MAX_MODELS: usize = 16;
/// Longest id of an element, in bytes.
const MAX_ID_BYTES: usize = 128;

/// What is wrong with a list of elements, at a JSON pointer in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteFault {
    pub pointer: String,
    pub message: String,
}

pub(super) type Faults = Vec<RouteFault>;

impl RouteFault {
    pub(super) fn new(pointer: &str, message: impl Into<String>) -> Self {
        Self { pointer: pointer.to_owned(), message: message.into() }
    }
}

/// A route, compiled.
#[derive(Clone, Debug)]
pub struct RouteGraph {
    elements: Vec<RouteElement>,
    start: ElementIndex,
    reads_body: bool,
}

/// Where a walk stops because something is to be done.
#[derive(Clone, Copy, Debug)]
pub enum RouteStop<'g> {
    Limit(&'g RouteLimit),
    Model(&'g RouteModel),
    End,
}

impl RouteGraph {
    /// Reads a list of elements.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn parse(list: &[Value]) -> Result<Self, Vec<RouteFault>> {
        let mut faults = Faults::new();
        if list.len() > MAX_ELEMENTS {
            return Err(vec![RouteFault::new("", format!("a route has at most {MAX_ELEMENTS} elements"))]);
        }
        let by_id = ids(list, &mut faults);
        let (mut elements, mut successes) = (Vec::with_capacity(list.len()), Vec::new());
        let none = Map::new();
        for (nth, element) in list.iter().enumerate() {
            let object = element.as_object().unwrap_or(&none);
            let pointer = format!("/{nth}");
            let mut reader = ElementReader { object, pointer, by_id: &by_id, faults: &mut faults };
            let read = reader.element();
            successes.extend(
                reader.success().filter(|_| matches!(read, RouteElement::Model(_))).map(|to| (nth, to)),
            );
            elements.push(read);
        }
        for (nth, to) in successes {
            if !matches!(elements.get(to.0), Some(RouteElement::End)) {
                let pointer = format!("/{nth}/outputs/success/elementId");
                faults.push(RouteFault::new(&pointer, "the answer of a model goes to an element `end`"));
            }
        }
        let mut starts = elements.iter().filter_map(|element| match element {
            RouteElement::Start(next) => Some(*next),
            _ => None,
        });
        let start = match (starts.next(), starts.next()) {
            (Some(next), None) => Some(next),
            _ => {
                faults.push(RouteFault::new("", "a route has one element `start`"));
                None
            }
        };
        if elements.iter().filter(|element| matches!(element, RouteElement::Model(_))).count() > MAX_MODELS {
            faults.push(RouteFault::new("", format!("a route has at most {MAX_MODELS} models")));
        }
        if let Some(nth) = in_circle(&elements) {
            faults.push(RouteFault::new(&format!("/{nth}/outputs"), "the element leads back to itself"));
        }
        match (start, faults.is_empty()) {
            (Some(start), true) => {
                let reads_body = elements.iter().any(RouteElement::reads_body);
                Ok(Self { elements, start, reads_body })
            }
            _ => Err(faults),
        }
    }

    /// Whether something depends on the body of a call.
    pub fn reads_body(&self) -> bool {
        self.reads_body
    }

    /// Where walks begin.
    pub fn start(&self) -> ElementIndex {
        self.start
    }

    /// Walks on until something is to be done. `seed` stands for the chance of one call: the same seed takes the same
    /// way.
    pub fn follow(&self, from: ElementIndex, facts: &RouteFacts<'_>, seed: u64) -> RouteStop<'_> {
        let mut at = from;
        // INVARIANT: there is no circle, so no element is met twice.
        for _ in 0..self.elements.len() {
            at = match self.elements.get(at.0) {
                Some(RouteElement::Start(next)) => *next,
                Some(RouteElement::Conditional { condition, yes, no }) => {
                    if condition.holds(facts) {
                        *yes
                    } else {
                        *no
                    }
                }
                Some(RouteElement::Split(shares)) => {
                    let drawn = percent(seed, at.0);
                    let taken = shares.iter().find(|(end, _)| drawn < *end).or(shares.last());
                    let Some((_, next)) = taken else { return RouteStop::End };
                    *next
                }
                Some(RouteElement::Limit(limit)) => return RouteStop::Limit(limit),
                Some(RouteElement::Model(model)) => return RouteStop::Model(model),
                Some(RouteElement::End) | None => return RouteStop::End,
            };
        }
        RouteStop::End
    }

    /// The model that is asked if no further limit is met.
    pub fn model_ahead(&self, limit: &RouteLimit, facts: &RouteFacts<'_>, seed: u64) -> Option<&RouteModel> {
        let mut at = limit.success;
        loop {
            match self.follow(at, facts, seed) {
                RouteStop::Limit(next) => at = next.success,
                RouteStop::Model(model) => return Some(model),
                RouteStop::End => return None,
            }
        }
    }
}

impl RouteElement {
    fn next(&self) -> Vec<ElementIndex> {
        match self {
            Self::Start(next) => vec![*next],
            Self::Conditional { yes, no, .. } => vec![*yes, *no],
            Self::Split(shares) => shares.iter().map(|(_, next)| *next).collect(),
            Self::Limit(RouteLimit { success, fallback, .. }) => {
                std::iter::once(*success).chain(*fallback).collect()
            }
            Self::Model(RouteModel { fallback, .. }) => fallback.iter().copied().collect(),
            Self::End => Vec::new(),
        }
    }

    fn reads_body(&self) -> bool {
        match self {
            Self::Conditional { condition, .. } => condition.reads_body(),
            Self::Limit(limit) => limit.field.is_of_body(),
            _ => false,
        }
    }
}

/// The elements by their ids.
fn ids<'v>(list: &'v [Value], faults: &mut Faults) -> HashMap<&'v str, ElementIndex> {
    let mut by_id = HashMap::new();
    for (nth, element) in list.iter().enumerate() {
        let id = element.get("id").and_then(Value::as_str);
        match id.filter(|id| (1..=MAX_ID_BYTES).contains(&id.len())) {
            Some(id) if by_id.insert(id, ElementIndex(nth)).is_some() => {
                faults.push(RouteFault::new(&format!("/{nth}/id"), format!("the id `{id}` is taken")));
            }
            Some(_) => {}
            None => {
                let message = format!("expected an id of 1 to {MAX_ID_BYTES} bytes");
                faults.push(RouteFault::new(&format!("/{nth}/id"), message));
            }
        }
    }
    by_id
}

/// An element from which a walk comes back to it.
fn in_circle(elements: &[RouteElement]) -> Option<usize> {
    /// Elements are met, and later left for good.
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Met,
        Left,
    }
    let mut marks = vec![Mark::New; elements.len()];
    for first in 0..elements.len() {
        let mut stack = vec![(first, false)];
        while let Some((at, is_done)) = stack.pop() {
            let (Some(mark), Some(element)) = (marks.get_mut(at), elements.get(at)) else { continue };
            if is_done {
                *mark = Mark::Left;
                continue;
            }
            match mark {
                Mark::Met => return Some(at),
                Mark::Left => continue,
                Mark::New => *mark = Mark::Met,
            }
            stack.push((at, true));
            for next in element.next() {
                match marks.get(next.0) {
                    Some(Mark::Met) => return Some(next.0),
                    Some(Mark::New) => stack.push((next.0, false)),
                    _ => {}
                }
            }
        }
    }
    None
}

/// A number from 0 to 100, evenly spread over seeds and elements (the finalizer of SplitMix64).
fn percent(seed: u64, element: usize) -> f64 {
    let mut mixed = seed.wrapping_add((element as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    #[expect(clippy::cast_precision_loss, reason = "53 bits are whole in a float")]
    let part = (mixed >> 11) as f64 / (1_u64 << 53) as f64;
    part * 100.0
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use serde_json::json;

    use super::*;
    use crate::metadata::Metadata;

    fn to(id: &str) -> Value {
        json!({ "elementId": id })
    }

    fn model(id: &str, fallback: &str) -> Value {
        json!({"id": id, "type": "model", "properties": {"provider": "openai", "model": id, "retries": 1, "timeout": 500},
            "outputs": {"success": to("end"), "fallback": to(fallback)}})
    }

    fn start(next: &str) -> Value {
        json!({"id": "start", "type": "start", "outputs": {"next": to(next)}})
    }

    fn end() -> Value {
        json!({"id": "end", "type": "end", "outputs": {}})
    }

    fn limit(id: &str, success: &str, fallback: Option<&str>) -> Value {
        let outputs = match fallback {
            Some(fallback) => json!({"success": to(success), "fallback": to(fallback)}),
            None => json!({"success": to(success)}),
        };
        json!({"id": id, "type": "rate", "outputs": outputs,
            "properties": {"key": "metadata.user", "limit": 2, "limitType": "count", "window": 60}})
    }

    /// What a walk of a call with this metadata comes to, in turn, if every limit is passed and every model fails.
    fn walk(graph: &RouteGraph, metadata: &str, seed: u64) -> Vec<String> {
        let (metadata, headers) = (Metadata::parse(metadata), HeaderMap::new());
        let facts = RouteFacts { metadata: &metadata, headers: &headers, body: &Value::Null, token: None };
        let (mut at, mut met) = (Some(graph.start()), Vec::new());
        while let Some(from) = at {
            at = match graph.follow(from, &facts, seed) {
                RouteStop::Limit(limit) => {
                    let ahead = graph.model_ahead(limit, &facts, seed).map_or("", |model| model.id.as_str());
                    met.push(format!("{} before {ahead}", limit.id));
                    Some(limit.success)
                }
                RouteStop::Model(model) => {
                    met.push(model.id.clone());
                    model.fallback
                }
                RouteStop::End => {
                    met.push("end".to_owned());
                    None
                }
            };
        }
        met
    }

    #[test]
    fn a_walk_takes_the_way_that_a_call_asks_for() {
        let conditional = json!({"id": "if", "type": "conditional", "properties": {"conditions": {"metadata.plan": "paid"}},
            "outputs": {"true": to("rate"), "false": to("small")}});
        let graph = RouteGraph::parse(&[
            start("if"),
            conditional,
            limit("rate", "large", Some("small")),
            model("large", "small"),
            model("small", "end"),
            end(),
        ]);
        let graph = graph.unwrap();
        assert!(!graph.reads_body());
        assert_eq!(walk(&graph, r#"{"plan":"paid"}"#, 0), ["rate before large", "large", "small", "end"]);
        assert_eq!(walk(&graph, "{}", 0), ["small", "end"]);
    }

    #[test]
    fn shares_are_as_large_as_they_say() {
        let split = json!({"id": "split", "type": "percentage",
            "outputs": {"10%": to("a"), "25.5%": to("b"), "else": to("c")}});
        let list = [start("split"), split, model("a", "end"), model("b", "end"), model("c", "end"), end()];
        let graph = RouteGraph::parse(&list).unwrap();
        let mut counts = HashMap::new();
        for seed in 0..100_000 {
            *counts.entry(walk(&graph, "{}", seed).remove(0)).or_insert(0_u32) += 1;
        }
        for (id, expected) in [("a", 10_000), ("b", 25_500), ("c", 64_500)] {
            assert!(counts[id].abs_diff(expected) < 500, "{counts:?}");
        }
        assert_eq!(walk(&graph, "{}", 7), walk(&graph, "{}", 7));
    }

    #[test]
    fn every_fault_is_said_with_its_place() {
        let pointers = |list: &[Value]| {
            let faults = RouteGraph::parse(list).err().unwrap_or_default();
            faults.into_iter().map(|fault| fault.pointer).collect::<Vec<_>>()
        };
        let changed = |pointer: &str, value: Value| {
            let mut element = limit("rate", "large", None);
            *element.pointer_mut(pointer).unwrap() = value;
            pointers(&[start("rate"), element, model("large", "end"), end()])
        };
        let of_model = |pointer: &str, value: Value| {
            let mut element = model("large", "end");
            *element.pointer_mut(pointer).unwrap() = value;
            pointers(&[start("large"), element, end()])
        };
        let split = |outputs: Value| {
            let split = json!({"id": "split", "type": "percentage", "outputs": outputs});
            pointers(&[start("split"), split, end()])
        };
        let rows = [
            (pointers(&[]), vec![""]),
            (pointers(&[start("end"), end()]), vec![]),
            (pointers(&[start("none"), end()]), vec!["/0/outputs/next/elementId", ""]),
            (pointers(&[start("end"), end(), end()]), vec!["/2/id"]),
            (pointers(&[start("end"), start("end"), end()]), vec!["/1/id", ""]),
            (pointers(&[start("end"), end(), json!(5)]), vec!["/2/id", "/2/type"]),
            (pointers(&[start("a"), model("a", "b"), model("b", "a"), end()]), vec!["/1/outputs"]),
            (pointers(&[start("rate"), limit("rate", "rate", None), end()]), vec!["/1/outputs"]),
            (changed("/properties/key", json!("user")), vec!["/1/properties/key"]),
            (changed("/properties/limit", json!(1.5)), vec!["/1/properties/limit"]),
            (changed("/properties/limit", json!(-1)), vec!["/1/properties/limit"]),
            (changed("/properties/limitType", json!("calls")), vec!["/1/properties/limitType"]),
            (changed("/properties/window", json!(0)), vec!["/1/properties/window"]),
            (changed("/outputs/success", Value::Null), vec!["/1/outputs/success"]),
            (of_model("/properties/provider", json!("replicate")), vec!["/1/properties/provider"]),
            (of_model("/properties/provider", json!("dynamic")), vec!["/1/properties/provider"]),
            (of_model("/properties/provider", json!("")), vec!["/1/properties/provider"]),
            (of_model("/properties/model", Value::Null), vec!["/1/properties/model"]),
            (of_model("/properties/timeout", json!(600_001)), vec!["/1/properties/timeout"]),
            (of_model("/properties/retries", json!(6)), vec!["/1/properties/retries"]),
            (of_model("/outputs/success/elementId", json!("start")), vec!["/1/outputs/success/elementId"]),
            (split(json!({"60%": to("end"), "50%": to("end")})), vec!["/1/outputs"]),
            (split(json!({"60%": to("end")})), vec!["/1/outputs"]),
            (split(json!({"ten": to("end"), "else": to("end")})), vec!["/1/outputs/ten"]),
            (split(json!({"33.3%": to("end"), "33.33%": to("end"), "33.37%": to("end")})), vec![]),
            (pointers(&vec![end(); 101]), vec![""]),
        ];
        for (nth, (found, expected)) in rows.into_iter().enumerate() {
            assert_eq!(found, expected, "row {nth}");
        }
        let many: Vec<Value> =
            (0..17).map(|nth| model(&format!("m{nth}"), "end")).chain([start("m0"), end()]).collect();
        assert_eq!(pointers(&many), [""]);
    }

    #[test]
    fn limits_and_models_have_what_was_written() {
        let mut cost = limit("budget", "large", None);
        cost["properties"] = json!({"key": "token", "limit": 0.5, "limitType": "cost", "interval": 3600, "technique": "sliding"});
        let graph = RouteGraph::parse(&[start("budget"), cost, model("large", "end"), end()]).unwrap();
        let RouteElement::Limit(found) = &graph.elements[1] else { panic!("{graph:?}") };
        let expected = model::Limit {
            only: Vec::new(),
            by: vec![model::Dimension::Metadata("token".into())],
            measure: model::Measure::Cost,
            limit: 500_000_000,
            interval: std::time::Duration::from_secs(3600),
            technique: model::Technique::Sliding,
        };
        assert_eq!(found.limit, expected);
        let RouteElement::Model(found) = &graph.elements[2] else { panic!("{graph:?}") };
        assert_eq!((found.attempts, found.timeout.as_millis()), (2, 500));
    }
}
