//! What matched, as events and `explain` show it.

use std::ops::Range;

use super::transaction::Transaction;
use crate::data::Matched;
use crate::data::Text;
use crate::{Phase, SEVERITIES};
use pattern::Span;

/// Most values that are reported for one match.
pub const MAX_VALUES: usize = 32;

/// A full match of a rule, as handles.
#[derive(Clone, Debug, Default)]
pub(super) struct Hit {
    pub(super) root: usize,
    /// What matched, as a range of the transaction's `evidence`.
    pub(super) evidence: Range<usize>,
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
    /// The last [`MAX_VALUES`] values that it and its chain matched, in order; none for a rule that
    /// looks at nothing.
    pub values: Vec<MatchedValue>,
    /// Whether this match refused the request.
    pub refused: bool,
    /// Where the rule is written.
    pub place: String,
}

/// A value that a rule matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedValue {
    /// As `ARGS:q`.
    pub variable: String,
    /// After the rule's transformations.
    pub value: Vec<u8>,
    /// Where in the value the operator matched.
    pub span: Option<Span>,
}

impl Match {
    /// The variable that matched last, as `ARGS:q`; empty for a rule that looks at nothing.
    pub fn variable(&self) -> &str {
        self.values.last().map_or("", |last| &last.variable)
    }

    /// The severity's name, if the rule has one.
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
        let text = |handle: Text| String::from_utf8_lossy(transaction.data.bytes(handle)).into_owned();
        let evidence = transaction.verdict.evidence.get(self.evidence.clone()).unwrap_or(&[]);
        let told = evidence.get(evidence.len().saturating_sub(MAX_VALUES)..).unwrap_or(&[]);
        let value = |matched: &Matched| MatchedValue {
            variable: text(matched.name),
            value: transaction.data.bytes(matched.value).to_vec(),
            span: matched.span,
        };
        Some(Match {
            rule: root.id,
            phase: root.phase,
            message: text(self.message),
            data: text(self.data),
            tags: root.meta.tags.clone(),
            severity: root.meta.severity,
            score: self.score,
            values: told.iter().map(value).collect(),
            refused: self.refused,
            place: root.meta.place.clone(),
        })
    }
}
