//! What matched, as events and `explain` show it.

use super::text::Text;
use super::transaction::Transaction;
use crate::pattern::Span;
use crate::waf::{Phase, SEVERITIES};

/// A full match of a rule, as handles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hit {
    pub(super) root: usize,
    pub(super) name: Text,
    pub(super) value: Text,
    pub(super) span: Option<Span>,
    pub(super) message: Text,
    pub(super) data: Text,
    pub(super) score: i64,
    pub(super) refused: bool,
}

/// A rule that matched.
#[derive(Clone, Debug)]
pub struct Match {
    pub rule: u64,
    pub phase: Phase,
    pub message: String,
    /// The rule's `logdata`, expanded.
    pub data: String,
    pub tags: Vec<String>,
    pub severity: Option<u8>,
    /// What the rule added to the anomaly score.
    pub score: i64,
    /// The variable that matched last, as `ARGS:q`; empty for a rule that looks at nothing.
    pub variable: String,
    /// Its value after the rule's transformations.
    pub value: Vec<u8>,
    /// Where in the value the operator matched.
    pub span: Option<Span>,
    /// Whether this match refused the request.
    pub refused: bool,
    /// Where the rule is written.
    pub place: String,
}

impl Match {
    /// The severity's name, where the rule has one.
    pub fn severity_word(&self) -> Option<&'static str> {
        SEVERITIES.get(usize::from(self.severity?)).copied()
    }
}

impl Hit {
    pub(super) fn of(root: usize) -> Self {
        Self { root, ..Self::default() }
    }

    pub(super) fn report(&self, transaction: &Transaction) -> Option<Match> {
        let root = transaction.plan.program.roots.get(self.root)?;
        let text = |handle: Text| String::from_utf8_lossy(transaction.bytes(handle)).into_owned();
        Some(Match {
            rule: root.id,
            phase: root.phase,
            message: text(self.message),
            data: text(self.data),
            tags: root.meta.tags.clone(),
            severity: root.meta.severity,
            score: self.score,
            variable: text(self.name),
            value: transaction.bytes(self.value).to_vec(),
            span: self.span,
            refused: self.refused,
            place: root.meta.place.clone(),
        })
    }
}
