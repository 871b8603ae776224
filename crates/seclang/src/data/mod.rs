//! Request data: all that variables and macros read of a request, its response and the run of rules so far.
//!
//! Bytes stand once, in [`Buffers`]; everything else holds [`Text`] handles into them.

mod decoded;
mod message;
mod names;
mod received_time;
mod request_body;
mod response;
mod text;

use std::time::Duration;

use pattern::Span;

pub use message::BodyLimits;
pub(crate) use message::{MessageData, Pair};
pub use names::NameBit;
pub(crate) use received_time::ReceivedTime;
pub use text::Text;
pub(crate) use text::{Buffers, number};

use crate::ir::CollectionKind;

/// A value that the running rule has matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched {
    pub(crate) name: Text,
    pub(crate) value: Text,
    /// Where in the value; `None` for what a negated operator did not find.
    pub(crate) span: Option<Span>,
}

/// What variables and macros read. Its buffers only grow.
#[derive(Default)]
pub struct Data {
    pub(crate) buffers: Buffers,
    pub(crate) message: MessageData,
    /// What the rule that runs has matched so far.
    pub(crate) matched: Vec<Matched>,
    pub(crate) tx: Vec<Option<Text>>,
    /// The names of `tx`, for rules that look at all of TX or at a pattern of names.
    pub(crate) tx_names: Vec<Text>,
    /// TX entries whose names were made at run time.
    pub(crate) tx_dynamic: Vec<(Text, Text)>,
    /// Persistent collections that are open, by their keys.
    pub(crate) open: Vec<(CollectionKind, Text)>,
    /// What those collections held when they were opened, with this transaction's changes.
    pub(crate) entries: Vec<(CollectionKind, Text, Text)>,
    pub(crate) env: Vec<(Text, Text)>,
    /// The entries of `RULE`, if rules ask for them.
    pub(crate) rule: Vec<(Text, Text)>,
    /// When the request came, since the Unix epoch.
    pub(crate) now: Duration,
    scratch: Vec<u8>,
}

impl Data {
    /// Starts over, in the memory of what was before: with the arena, the TX entries and the TX names of a plan.
    pub(crate) fn begin(&mut self, arena: &[u8], entries: &Vec<Option<Text>>, names: &Vec<Text>) {
        self.buffers.begin(arena);
        self.message.clear();
        self.matched.clear();
        self.tx.clone_from(entries);
        self.tx_names.clone_from(names);
        self.tx_dynamic.clear();
        self.open.clear();
        self.entries.clear();
        self.env.clear();
        self.rule.clear();
        self.now = Duration::ZERO;
    }

    /// The bytes of a handle.
    #[inline]
    pub(crate) fn bytes(&self, text: Text) -> &[u8] {
        self.buffers.get(text)
    }

    pub(crate) fn response_content_type(&self) -> Text {
        self.message.response_header(b"content-type", &self.buffers)
    }

    /// Calls with each entry of an open collection.
    pub(crate) fn visit_collection(&self, kind: CollectionKind, visit: &mut dyn FnMut(Text, Text)) {
        let entries = self.entries.iter().filter(|(of, ..)| *of == kind);
        entries.for_each(|(_, name, value)| visit(*name, *value));
    }

    pub(crate) fn tx_value(&self, index: usize) -> &[u8] {
        self.tx_entry(index).unwrap_or(&[])
    }

    pub(crate) fn tx_entry(&self, index: usize) -> Option<&[u8]> {
        Some(self.buffers.get(self.tx.get(index).copied().flatten()?))
    }

    pub(crate) fn set_tx(&mut self, index: usize, value: Option<Text>) {
        if let Some(slot) = self.tx.get_mut(index) {
            *slot = value;
        }
    }

    /// Calls with each TX entry.
    pub(crate) fn visit_tx(&self, visit: &mut dyn FnMut(Text, Text)) {
        for (name, value) in self.tx_names.iter().zip(&self.tx) {
            if let Some(value) = value {
                visit(*name, *value);
            }
        }
        self.tx_dynamic.iter().for_each(|(name, value)| visit(*name, *value));
    }

    /// The same with the entries of these indexes, and those of names made at run time that are taken.
    pub(crate) fn visit_tx_of(
        &self,
        indexes: &[usize],
        is_taken: impl Fn(Text) -> bool,
        visit: &mut dyn FnMut(Text, Text),
    ) {
        for index in indexes {
            let entry = self.tx_names.get(*index).zip(self.tx.get(*index).copied().flatten());
            entry.into_iter().for_each(|(name, value)| visit(*name, value));
        }
        let dynamic = self.tx_dynamic.iter().filter(|(name, _)| is_taken(*name));
        dynamic.for_each(|(name, value)| visit(*name, *value));
    }

    /// Runs `fill` on an empty buffer and keeps what it wrote.
    pub(crate) fn compose(&mut self, fill: impl FnOnce(&Self, &mut Vec<u8>)) -> Text {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        fill(self, &mut scratch);
        let text = self.buffers.add(&scratch);
        self.scratch = scratch;
        text
    }
}
