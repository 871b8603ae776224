//! Lines of the log that wait for a collector, and how it gets them (opentelemetry-proto 1.x, logs, JSON mapping).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_queue::SegQueue;
use serde_json::{Map, Value, json};

use super::Level;

/// Most bytes of lines that wait.
const MAX_WAITING_BYTES: usize = 8 << 20;

/// Lines that wait to be sent; clones share them.
#[derive(Clone, Debug, Default)]
pub struct LogQueue {
    waiting: Arc<SegQueue<Vec<u8>>>,
    bytes: Arc<AtomicUsize>,
}

impl LogQueue {
    /// Takes a line; false if there is no room.
    pub fn push(&self, line: Vec<u8>) -> bool {
        let size = line.len();
        if self.bytes.fetch_add(size, Ordering::Relaxed) + size > MAX_WAITING_BYTES {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            return false;
        }
        self.waiting.push(line);
        true
    }

    /// Removes at most `most` lines, the oldest first.
    pub fn take(&self, most: usize) -> Vec<Vec<u8>> {
        let lines: Vec<Vec<u8>> = std::iter::from_fn(|| self.waiting.pop()).take(most).collect();
        self.bytes.fetch_sub(lines.iter().map(Vec::len).sum(), Ordering::Relaxed);
        lines
    }

    /// A line as a record: its message is the body, its other fields are attributes.
    pub fn otlp(line: &[u8]) -> Value {
        let mut fields: Map<String, Value> = serde_json::from_slice(line).unwrap_or_default();
        let mut text = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (time, level, message, trace) = (text("time"), text("level"), text("msg"), text("TraceID"));
        let nanoseconds = time.parse::<jiff::Timestamp>().map_or(0, |time| time.as_nanosecond());
        let attributes: Vec<Value> =
            fields.iter().map(|(name, value)| json!({"key": name, "value": attribute(value)})).collect();
        json!({
            "timeUnixNano": nanoseconds.to_string(),
            "severityNumber": severity(&level),
            "severityText": level,
            "body": {"stringValue": message},
            "attributes": attributes,
            "traceId": trace,
        })
    }
}

fn attribute(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Bool(flag) => json!({"boolValue": flag}),
        Value::Number(number) if number.is_i64() => json!({"intValue": number.to_string()}),
        Value::Number(number) => json!({"doubleValue": number}),
        other => json!({"stringValue": other.to_string()}),
    }
}

/// The number of a level (OpenTelemetry log data model, "Field: SeverityNumber").
fn severity(word: &str) -> u8 {
    let levels = [Level::Debug, Level::Info, Level::Notice, Level::Warn, Level::Error];
    match levels.into_iter().find(|level| level.word() == word) {
        Some(Level::Debug) => 5,
        Some(Level::Info) | None => 9,
        Some(Level::Notice) => 10,
        Some(Level::Warn) => 13,
        Some(Level::Error) => 17,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_a_record() {
        let line = br#"{"time":"1970-01-01T00:00:01.5Z","level":"warn","msg":"m","TraceID":"0af7","a":"b","n":3,"d":0.5,"l":[1],"t":true}"#;
        let record = LogQueue::otlp(line);
        assert_eq!((&record["timeUnixNano"], &record["severityNumber"]), (&json!("1500000000"), &json!(13)));
        assert_eq!((&record["body"]["stringValue"], &record["traceId"]), (&json!("m"), &json!("0af7")));
        let mut attributes = record["attributes"].as_array().unwrap().clone();
        attributes.sort_by_key(|attribute| attribute["key"].to_string());
        assert_eq!(
            attributes,
            [
                json!({"key": "a", "value": {"stringValue": "b"}}),
                json!({"key": "d", "value": {"doubleValue": 0.5}}),
                json!({"key": "l", "value": {"stringValue": "[1]"}}),
                json!({"key": "n", "value": {"intValue": "3"}}),
                json!({"key": "t", "value": {"boolValue": true}}),
            ]
        );
    }

    #[test]
    fn what_does_not_fit_is_not_taken() {
        let queue = LogQueue::default();
        assert!(queue.push(vec![0; MAX_WAITING_BYTES]) && !queue.push(vec![0; 1]));
        assert_eq!(queue.take(9).len(), 1);
        assert!(queue.push(vec![0; 1]));
    }
}
