//! What is known of values, one by one and many together, before an operator is asked.
//!
//! Most links match no value of a request, and this is enough to say so.

use super::literals::{self, Words};
use super::prefilter::Prefilter;
use super::program::{Cell, Gate, Program, View};
use super::text::Text;
use super::transaction::Transaction;
use crate::variables::Changes;
use pattern::ByteSet;

/// A text that operators look at, with what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) text: Text,
    pub(super) bytes: ByteSet,
    literals: Literals,
}

/// The literals that a text holds.
#[derive(Clone, Copy, Debug)]
enum Literals {
    Unsearched,
    /// Where in the transaction's `literals` the answer begins; `None` where there are none.
    Searched(Option<u32>),
}

impl Seen {
    pub(super) fn new(text: Text, bytes: ByteSet) -> Self {
        Self { text, bytes, literals: Literals::Unsearched }
    }
}

/// What is known of values together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    /// Whether there is any value.
    any: bool,
    longest: usize,
    bytes: ByteSet,
    /// Where in the transaction's `literals` the answer for all begins; `None` where there are none.
    literals: Option<u32>,
}

/// Index of a summary. The first is that of no values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SummaryId(u32);

/// What is known of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub(super) summary: SummaryId,
    /// By position the cells that have values; the last bit stands for all from there on.
    present: u64,
}

impl Known {
    /// Whether the cell at this position has values.
    #[inline]
    pub(super) fn has(&self, position: usize) -> bool {
        self.present & bit(position) != 0
    }
}

#[inline]
fn bit(position: usize) -> u64 {
    1 << position.min(63)
}

/// A summary that values are added to.
#[derive(Default)]
struct Union {
    summary: Summary,
    /// Whether its literals are those of no one else.
    own: bool,
}

impl Transaction {
    pub(super) fn begin_summaries(&mut self, cells: usize, groups: usize) {
        self.summaries.clear();
        self.summaries.push(Summary::default());
        self.cells.clear();
        self.cells.resize(cells, None);
        self.groups.clear();
        self.groups.resize(groups, None);
        self.literals.clear();
    }

    /// What is known of all cells of a group together.
    #[inline]
    pub(super) fn group(&mut self, program: &Program, index: usize) -> Known {
        match self.groups.get(index).copied().flatten() {
            Some(known) => known,
            None => self.sum_up_group(program, index),
        }
    }

    #[inline(never)]
    fn sum_up_group(&mut self, program: &Program, index: usize) -> Known {
        let Some(group) = program.groups.get(index) else { return Known::default() };
        let plain = (group.plain != index).then(|| self.group(program, group.plain));
        let known = match plain {
            Some(plain) if self.is_untouched(plain.summary, group.touches.as_ref()) => plain,
            // No transformation makes a value where there was none.
            Some(plain) => self.sum_up_cells(program, &group.cells, plain.present),
            None => self.sum_up_cells(program, &group.cells, u64::MAX),
        };
        if let Some(slot) = self.groups.get_mut(index) {
            *slot = Some(known);
        }
        known
    }

    /// Of these cells those that may have values.
    fn sum_up_cells(&mut self, program: &Program, cells: &[usize], candidates: u64) -> Known {
        let (mut present, mut last) = (0, SummaryId::default());
        let mut union = Union::default();
        let mut is_sum = false;
        for (position, &cell) in cells.iter().enumerate() {
            let bit = bit(position);
            if candidates & bit == 0 {
                continue;
            }
            let next = self.cell(program, cell);
            if next == SummaryId::default() {
                continue;
            }
            present |= bit;
            if next != last {
                is_sum = union.summary.any;
                last = next;
                let more = self.summary(next);
                union.add(&more, &mut self.literals, program.literals.words);
            }
        }
        // What stands alone needs no sum.
        let summary = if is_sum { self.push_summary(union.summary) } else { last };
        Known { summary, present }
    }

    /// What is known of the values of a cell, also of those that a `ctl` took away from one rule.
    #[inline]
    pub(super) fn cell(&mut self, program: &Program, index: usize) -> SummaryId {
        match self.cells.get(index).copied().flatten() {
            Some(known) => known,
            None => self.sum_up_cell(program, index),
        }
    }

    #[inline(never)]
    fn sum_up_cell(&mut self, program: &Program, index: usize) -> SummaryId {
        let Some(cell) = program.cells.get(index) else { return SummaryId::default() };
        let Some(view) = program.views.get(cell.view) else { return SummaryId::default() };
        let plain = (cell.plain != index).then(|| self.cell(program, cell.plain));
        let id = match plain {
            Some(plain) if self.is_untouched(plain, view.touches.as_ref()) => plain,
            _ => self.sum_up_values(program, cell, view),
        };
        if let Some(slot) = self.cells.get_mut(index) {
            *slot = Some(id);
        }
        id
    }

    fn sum_up_values(&mut self, program: &Program, cell: &Cell, view: &View) -> SummaryId {
        let values = self.find(program, cell.target);
        if values.is_empty() {
            return SummaryId::default();
        }
        let mut union = Union::default();
        let words = program.literals.words;
        for value in values {
            let mut seen = self.raw(value);
            if cell.each {
                for step in &view.steps {
                    let before = self.measure(program, seen);
                    union.add(&before, &mut self.literals, words);
                    seen = self.step(program, seen, step);
                }
            } else {
                seen = self.under(program, seen, view);
            }
            let last = self.measure(program, seen);
            union.add(&last, &mut self.literals, words);
        }
        if union.summary.any { self.push_summary(union.summary) } else { SummaryId::default() }
    }

    /// Whether a summary of values as they came is that of the transformed values, too.
    fn is_untouched(&self, plain: SummaryId, touches: Option<&ByteSet>) -> bool {
        plain == SummaryId::default()
            || touches.is_some_and(|touches| {
                self.summaries.get(plain.0 as usize).is_none_or(|summary| !summary.bytes.intersects(touches))
            })
    }

    fn summary(&self, id: SummaryId) -> Summary {
        self.summaries.get(id.0 as usize).copied().unwrap_or_default()
    }

    fn push_summary(&mut self, summary: Summary) -> SummaryId {
        let id = u32::try_from(self.summaries.len()).unwrap_or(u32::MAX);
        self.summaries.push(summary);
        SummaryId(id)
    }

    /// What is known of one value.
    fn measure(&mut self, program: &Program, seen: usize) -> Summary {
        let Some(entry) = self.seen.get(seen) else { return Summary::default() };
        let literals = match entry.literals {
            Literals::Searched(found) => found,
            Literals::Unsearched => {
                let at = self.literals.len();
                program.literals.search(self.buffers.get(entry.text), &mut self.literals);
                let found = u32::try_from(at).ok().filter(|_| self.literals.len() > at);
                if let Some(entry) = self.seen.get_mut(seen) {
                    entry.literals = Literals::Searched(found);
                }
                found
            }
        };
        let entry = self.seen.get(seen);
        entry.map_or_else(Summary::default, |entry| Summary {
            any: true,
            longest: entry.text.len(),
            bytes: entry.bytes,
            literals,
        })
    }

    /// Whether any value that is summed up here may hold a literal of a set, where one is asked for, and
    /// get through a prefilter; `negated` asks for those that do not, of which nothing is known.
    #[inline]
    pub(super) fn admits(
        &self,
        id: SummaryId,
        negated: bool,
        literals: Option<u32>,
        prefilter: &Prefilter,
    ) -> bool {
        let summary = self.summaries.get(id.0 as usize).filter(|summary| summary.any);
        summary.is_some_and(|summary| negated || self.passes(summary, literals, prefilter))
    }

    /// Whether one value gets through a gate.
    pub(super) fn value_passes(&mut self, program: &Program, gate: &Gate, seen: usize) -> bool {
        if gate.literals.is_none() {
            // Spares the search.
            let passes = |entry: &Seen| gate.prefilter.passes(entry.text.len(), &entry.bytes);
            return self.seen.get(seen).is_some_and(passes);
        }
        let summary = self.measure(program, seen);
        self.passes(&summary, gate.literals, &gate.prefilter)
    }

    #[inline]
    fn passes(&self, summary: &Summary, literals: Option<u32>, prefilter: &Prefilter) -> bool {
        let holds = |set| {
            let found = summary.literals.and_then(|at| self.literals.get(at as usize..));
            found.is_some_and(|found| literals::has(found, set))
        };
        literals.is_none_or(holds) && prefilter.passes(summary.longest, &summary.bytes)
    }

    /// Forgets what follows from a message that has got another part.
    pub(super) fn forget_message(&mut self) {
        let plan = std::sync::Arc::clone(&self.plan);
        let program = &plan.program;
        let changed = |changes: Changes| changes != Changes::Never;
        for (found, target) in self.found.iter_mut().zip(&program.targets) {
            if changed(target.variable.changes) {
                *found = None;
            }
        }
        for (known, cell) in self.cells.iter_mut().zip(&program.cells) {
            if changed(cell.changes) {
                *known = None;
            }
        }
        for (known, group) in self.groups.iter_mut().zip(&program.groups) {
            if changed(group.changes) {
                *known = None;
            }
        }
    }
}

impl Union {
    #[inline]
    fn add(&mut self, more: &Summary, literals: &mut Vec<Words>, words: usize) {
        let summary = &mut self.summary;
        summary.any |= more.any;
        summary.longest = summary.longest.max(more.longest);
        summary.bytes = summary.bytes.union(&more.bytes);
        match (summary.literals, more.literals) {
            (_, None) => {}
            (None, more) => summary.literals = more,
            (Some(ours), Some(theirs)) if ours == theirs => {}
            (Some(ours), Some(theirs)) => {
                let ours = if self.own {
                    ours as usize
                } else {
                    let copy = literals.len();
                    literals.extend_from_within(ours as usize..ours as usize + words);
                    self.own = true;
                    summary.literals = u32::try_from(copy).ok();
                    copy
                };
                for word in 0..words {
                    let more = literals.get(theirs as usize + word).copied().unwrap_or(0);
                    literals.get_mut(ours + word).into_iter().for_each(|all| *all |= more);
                }
            }
        }
    }
}
