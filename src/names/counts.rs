//! Counts of answers, by type and code. Both are words of fixed lists, so that a client makes no series.

use std::collections::HashMap;

use dns::{Answered, RecordType};
use prometheus::IntCounter;

use crate::events::Events;

/// The counters that a thread or a connection has used.
pub(super) struct AnswerCounts {
    events: Events,
    known: HashMap<(u16, u16), IntCounter>,
    protocol: &'static str,
}

impl AnswerCounts {
    pub(super) fn new(events: Events, protocol: &'static str) -> Self {
        Self { events, known: HashMap::new(), protocol }
    }

    pub(super) fn count(&mut self, answered: &Answered) {
        let query_type = if word(answered.query_type) == "other" { 0 } else { answered.query_type };
        let counter = self.known.entry((query_type, answered.rcode as u16)).or_insert_with(|| {
            let labels = [word(answered.query_type), answered.rcode.word(), self.protocol];
            self.events.metrics().dns_answers.with_label_values(&labels)
        });
        counter.inc();
    }
}

fn word(query_type: u16) -> &'static str {
    match query_type {
        6 => "SOA",
        251 => "IXFR",
        252 => "AXFR",
        255 => "ANY",
        other => RecordType::of_number(other).map_or("other", RecordType::word),
    }
}
