//! A span as OTLP has it in JSON (opentelemetry-proto 1.x, JSON mapping): ids in hexadecimal, 64-bit numbers as text.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Value, json};

use super::context::TraceContext;

/// Longest text in a span, in bytes: clients make paths and agents as long as heads may be, and thousands of spans wait.
const MAX_TEXT_BYTES: usize = 1_024;

/// What a span is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A request that came.
    Server = 2,
    /// A request that was made.
    Client = 3,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    Text(String),
    Int(i64),
    Double(f64),
}

impl AttributeValue {
    fn otlp(&self) -> Value {
        match self {
            Self::Text(text) => json!({"stringValue": text}),
            Self::Int(number) => json!({"intValue": number.to_string()}),
            Self::Double(number) => json!({"doubleValue": number}),
        }
    }
}

/// What happened from one moment to another.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpan {
    pub context: TraceContext,
    pub kind: SpanKind,
    name: String,
    /// Since the Unix epoch.
    pub begin: Duration,
    pub end: Duration,
    /// By the names of the semantic conventions.
    pub attributes: Vec<(Cow<'static, str>, AttributeValue)>,
    /// Whether it failed.
    pub has_failed: bool,
}

impl TraceSpan {
    /// What has ended at `end`, since the Unix epoch, after so long, as yet without a name.
    pub fn new(context: TraceContext, kind: SpanKind, end: Duration, duration: Duration) -> Self {
        let begin = end.saturating_sub(duration);
        Self { context, kind, name: String::new(), begin, end, attributes: Vec::new(), has_failed: false }
    }

    pub fn set_name(&mut self, name: &str) {
        cut(name).clone_into(&mut self.name);
    }

    /// Adds an attribute whose value is a text, cut to what a span may hold, unless that is empty.
    pub fn text(&mut self, name: impl Into<Cow<'static, str>>, value: &str) {
        self.long_text(name, cut(value));
    }

    /// Adds an attribute whose value is a text, whole, unless it is empty. The caller has to limit its length.
    pub fn long_text(&mut self, name: impl Into<Cow<'static, str>>, value: &str) {
        if !value.is_empty() {
            self.attributes.push((name.into(), AttributeValue::Text(value.to_owned())));
        }
    }

    pub fn int(&mut self, name: &'static str, value: impl TryInto<i64>) {
        self.attributes.push((name.into(), AttributeValue::Int(value.try_into().unwrap_or(i64::MAX))));
    }

    pub fn double(&mut self, name: &'static str, value: f64) {
        self.attributes.push((name.into(), AttributeValue::Double(value)));
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        let attributes = self.attributes.iter().map(|(name, value)| match value {
            AttributeValue::Text(text) => 64 + name.len() + text.len(),
            AttributeValue::Int(_) | AttributeValue::Double(_) => 64 + name.len(),
        });
        256 + self.name.len() + attributes.sum::<usize>()
    }

    /// The span for a collector.
    pub fn otlp(&self) -> Value {
        let TraceContext { trace, parent, span, is_sampled } = self.context;
        let attributes = self.attributes.iter();
        let mut shown = json!({
            "traceId": format!("{trace:032x}"),
            "spanId": format!("{span:016x}"),
            "flags": u8::from(is_sampled),
            "name": self.name,
            "kind": self.kind as u8,
            "startTimeUnixNano": self.begin.as_nanos().to_string(),
            "endTimeUnixNano": self.end.as_nanos().to_string(),
            "attributes": attributes
                .map(|(name, value)| json!({"key": name, "value": value.otlp()}))
                .collect::<Vec<_>>(),
            "status": if self.has_failed { json!({"code": 2}) } else { json!({}) },
        });
        if parent != 0
            && let Some(members) = shown.as_object_mut()
        {
            members.insert("parentSpanId".to_owned(), json!(format!("{parent:016x}")));
        }
        shown
    }
}

fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_a_client_makes_long_are_cut_between_characters() {
        let context = TraceContext { trace: 1, parent: 0, span: 1, is_sampled: true };
        let mut span = TraceSpan::new(context, SpanKind::Server, Duration::ZERO, Duration::ZERO);
        for text in ["", "short", &"x".repeat(5_000), &"ä".repeat(5_000), &format!("x{}", "ä".repeat(5_000))]
        {
            span.text("a", text);
        }
        let lengths: Vec<usize> = span
            .attributes
            .iter()
            .map(|(_, value)| match value {
                AttributeValue::Text(text) => text.len(),
                _ => 0,
            })
            .collect();
        assert_eq!(lengths, [5, 1_024, 1_024, 1_023]);
    }
}
