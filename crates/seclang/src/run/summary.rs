//! What is known of values, one by one and many together, before an operator is asked.
//!
//! Most links match no value of a request, and this is enough to say so.

use super::transaction::Transaction;
use crate::compile::program::{Pipeline, Precondition, Program, TransformedTarget};
use crate::data::Text;
use crate::prefilter::Prefilter;
use crate::prefilter::literal_places::LiteralPlaces;
use crate::prefilter::literals::{self, Words};
use crate::variables::Changes;
use pattern::ByteSet;

/// A text that operators look at, with what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedValue {
    pub(super) text: Text,
    pub(super) bytes: ByteSet,
    literals: Literals,
}

/// The literals that a text holds.
#[derive(Clone, Copy, Debug)]
enum Literals {
    Unsearched,
    /// Where in the transaction's `literals` the answer begins, and in its `places` where they stand if that was kept;
    /// `None` if there are none.
    Searched(Option<(u32, Option<u32>)>),
}

impl CachedValue {
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
    /// Where in the transaction's `literals` the answer for all begins; `None` if there are none.
    literals: Option<u32>,
}

/// Index of a summary. The first is that of no values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SummaryId(u32);

/// What is known of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupSummary {
    pub(super) summary: SummaryId,
    /// By position the transformed targets that have values; the last bit stands for all from there on.
    present: u64,
}

impl GroupSummary {
    /// Whether the transformed target at this position has values.
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
    pub(super) fn begin_summaries(&mut self, transformed_targets: usize, groups: usize) {
        self.cache.summaries.clear();
        self.cache.summaries.push(Summary::default());
        self.cache.transformed_targets.clear();
        self.cache.transformed_targets.resize(transformed_targets, None);
        self.cache.groups.clear();
        self.cache.groups.resize(groups, None);
        self.cache.literals.clear();
        self.cache.places.clear();
    }

    /// What is known of all transformed targets of a group together.
    #[inline]
    pub(super) fn group(&mut self, program: &Program, index: usize) -> GroupSummary {
        match self.cache.groups.get(index).copied().flatten() {
            Some(known) => known,
            None => self.sum_up_group(program, index),
        }
    }

    #[inline(never)]
    fn sum_up_group(&mut self, program: &Program, index: usize) -> GroupSummary {
        let Some(group) = program.groups.get(index) else { return GroupSummary::default() };
        let plain = (group.plain != index).then(|| self.group(program, group.plain));
        let known = match plain {
            Some(plain) if self.is_untouched(plain.summary, group.touches.as_ref()) => plain,
            // No transformation makes a value where there was none.
            Some(plain) => self.sum_up_cells(program, &group.transformed_targets, plain.present),
            None => self.sum_up_cells(program, &group.transformed_targets, u64::MAX),
        };
        if let Some(slot) = self.cache.groups.get_mut(index) {
            *slot = Some(known);
        }
        known
    }

    /// Of these transformed targets those that may have values.
    fn sum_up_cells(
        &mut self,
        program: &Program,
        transformed_targets: &[usize],
        candidates: u64,
    ) -> GroupSummary {
        let (mut present, mut last) = (0, SummaryId::default());
        let mut union = Union::default();
        let mut is_sum = false;
        for (position, &transformed_target) in transformed_targets.iter().enumerate() {
            let bit = bit(position);
            if candidates & bit == 0 {
                continue;
            }
            let next = self.transformed_target(program, transformed_target);
            if next == SummaryId::default() {
                continue;
            }
            present |= bit;
            if next != last {
                is_sum = union.summary.any;
                last = next;
                let more = self.summary(next);
                union.add(&more, &mut self.cache.literals, program.literals.words);
            }
        }
        // What stands alone needs no sum.
        let summary = if is_sum { self.push_summary(union.summary) } else { last };
        GroupSummary { summary, present }
    }

    /// What is known of the values of a transformed target, also of those that a `ctl` took away from one rule.
    #[inline]
    pub(super) fn transformed_target(&mut self, program: &Program, index: usize) -> SummaryId {
        match self.cache.transformed_targets.get(index).copied().flatten() {
            Some(known) => known,
            None => self.sum_up_cell(program, index),
        }
    }

    #[inline(never)]
    fn sum_up_cell(&mut self, program: &Program, index: usize) -> SummaryId {
        let Some(transformed_target) = program.transformed_targets.get(index) else {
            return SummaryId::default();
        };
        let Some(pipeline) = program.pipelines.get(transformed_target.pipeline) else {
            return SummaryId::default();
        };
        let plain = (transformed_target.plain != index)
            .then(|| self.transformed_target(program, transformed_target.plain));
        let id = match plain {
            Some(plain) if self.is_untouched(plain, pipeline.touches.as_ref()) => plain,
            _ => self.sum_up_values(program, transformed_target, pipeline),
        };
        if let Some(slot) = self.cache.transformed_targets.get_mut(index) {
            *slot = Some(id);
        }
        id
    }

    fn sum_up_values(
        &mut self,
        program: &Program,
        transformed_target: &TransformedTarget,
        pipeline: &Pipeline,
    ) -> SummaryId {
        let values = self.find(program, transformed_target.target);
        if values.is_empty() {
            return SummaryId::default();
        }
        let mut union = Union::default();
        let words = program.literals.words;
        for value in values {
            let mut seen = self.raw(value);
            if transformed_target.each {
                for step in &pipeline.steps {
                    let before = self.measure(program, seen);
                    union.add(&before, &mut self.cache.literals, words);
                    seen = self.step(program, seen, step);
                }
            } else {
                seen = self.under(program, seen, pipeline);
            }
            let last = self.measure(program, seen);
            union.add(&last, &mut self.cache.literals, words);
        }
        if union.summary.any { self.push_summary(union.summary) } else { SummaryId::default() }
    }

    /// Whether a summary of values as they came is that of the transformed values, too.
    fn is_untouched(&self, plain: SummaryId, touches: Option<&ByteSet>) -> bool {
        plain == SummaryId::default()
            || touches.is_some_and(|touches| {
                self.cache
                    .summaries
                    .get(plain.0 as usize)
                    .is_none_or(|summary| !summary.bytes.intersects(touches))
            })
    }

    fn summary(&self, id: SummaryId) -> Summary {
        self.cache.summaries.get(id.0 as usize).copied().unwrap_or_default()
    }

    fn push_summary(&mut self, summary: Summary) -> SummaryId {
        let id = u32::try_from(self.cache.summaries.len()).unwrap_or(u32::MAX);
        self.cache.summaries.push(summary);
        SummaryId(id)
    }

    /// What is known of one value.
    fn measure(&mut self, program: &Program, seen: usize) -> Summary {
        let Some(entry) = self.cache.seen.get(seen) else { return Summary::default() };
        let literals = match entry.literals {
            Literals::Searched(found) => found,
            Literals::Unsearched => {
                let (literals, places) = (&mut self.cache.literals, &mut self.cache.places);
                let (at, places_at) = (literals.len(), places.len());
                program.literals.search(self.data.buffers.get(entry.text), literals, places);
                let kept = u32::try_from(places_at).ok().filter(|_| places.len() > places_at);
                let found = u32::try_from(at).ok().filter(|_| literals.len() > at).map(|at| (at, kept));
                if let Some(entry) = self.cache.seen.get_mut(seen) {
                    entry.literals = Literals::Searched(found);
                }
                found
            }
        };
        let literals = literals.map(|(at, _)| at);
        let entry = self.cache.seen.get(seen);
        entry.map_or_else(Summary::default, |entry| Summary {
            any: true,
            longest: entry.text.len(),
            bytes: entry.bytes,
            literals,
        })
    }

    /// Whether any value that is summed up here may hold a literal of a set, if one is asked for, and
    /// get through a prefilter; `negated` asks for those that do not, of which nothing is known.
    #[inline]
    pub(super) fn admits(
        &self,
        id: SummaryId,
        negated: bool,
        literals: Option<u32>,
        prefilter: &Prefilter,
    ) -> bool {
        let summary = self.cache.summaries.get(id.0 as usize).filter(|summary| summary.any);
        summary.is_some_and(|summary| negated || self.passes(summary, literals, prefilter))
    }

    /// Whether one value gets through a precondition.
    pub(super) fn value_passes(
        &mut self,
        program: &Program,
        precondition: &Precondition,
        seen: usize,
    ) -> bool {
        if precondition.literals.is_none() {
            // Spares the search.
            let passes = |entry: &CachedValue| precondition.prefilter.passes(entry.text.len(), &entry.bytes);
            return self.cache.seen.get(seen).is_some_and(passes);
        }
        let summary = self.measure(program, seen);
        self.passes(&summary, precondition.literals, &precondition.prefilter)
    }

    /// Where in a long value the literals of a set stand.
    pub(super) fn places(&self, seen: usize, set: u32) -> Option<LiteralPlaces<'_>> {
        let entry = self.cache.seen.get(seen)?;
        let Literals::Searched(Some((_, Some(at)))) = entry.literals else { return None };
        LiteralPlaces::of(self.cache.places.get(at as usize..)?, set, entry.text.len())
    }

    #[inline]
    fn passes(&self, summary: &Summary, literals: Option<u32>, prefilter: &Prefilter) -> bool {
        let holds = |set| {
            let found = summary.literals.and_then(|at| self.cache.literals.get(at as usize..));
            found.is_some_and(|found| literals::has(found, set))
        };
        literals.is_none_or(holds) && prefilter.passes(summary.longest, &summary.bytes)
    }

    /// Forgets what follows from a message that has got another part.
    pub(super) fn forget_message(&mut self) {
        let plan = std::sync::Arc::clone(&self.plan);
        let program = &plan.program;
        let changed = |changes: Changes| changes != Changes::Never;
        for (found, target) in self.cache.found.iter_mut().zip(&program.targets) {
            if changed(target.variable.changes) {
                *found = None;
            }
        }
        for (known, transformed_target) in
            self.cache.transformed_targets.iter_mut().zip(&program.transformed_targets)
        {
            if changed(transformed_target.changes) {
                *known = None;
            }
        }
        for (known, group) in self.cache.groups.iter_mut().zip(&program.groups) {
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
