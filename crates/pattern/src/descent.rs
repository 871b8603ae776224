//! Patterns of which the next byte tells how they go on, as those of most tokens and numbers are: read at a place
//! without an automaton, and without anything compiled that would take memory or time.
//!
//! What is built finds exactly what the pattern finds, or is not built. If a pattern has a choice, to go on with
//! a repetition or to leave it, to take one branch or another, one of two things holds: what the choices begin with
//! is disjoint, so that all but one would fail at once; or the pattern ends behind it, and the choices are tried in
//! the order of the pattern.

use regex_syntax::hir::{Hir, HirKind, Look, Repetition};

use super::first::{first, of_class};
use super::{ByteSet, Span};

/// Most repetitions behind each of which the rest of a pattern is tried.
const MAX_RETRIES: usize = 32;

/// A pattern that is read at a place.
#[derive(Debug)]
pub(super) struct Descent {
    node: Node,
    /// Whether it stands at the start of a text only.
    at_start: bool,
    /// For every byte the sets that have it, a bit each.
    sets: [u16; 256],
}

/// The sets of a pattern that is built.
struct Sets {
    of: [u16; 256],
    /// In the order of their bits.
    known: Vec<ByteSet>,
}

/// The bit of a set.
#[derive(Clone, Copy, Debug)]
struct Set(u16);

#[derive(Debug)]
enum Node {
    Text(Box<[u8]>),
    Byte(Set),
    /// As many bytes of a set as there are.
    Run {
        set: Set,
        least: usize,
        most: usize,
    },
    /// As many bytes of a set as leave one of another behind them.
    RunTo {
        set: Set,
        least: usize,
        most: usize,
        last: Set,
    },
    /// As many bytes of a set as there are, one of another before each or not.
    Spaced {
        space: Set,
        set: Set,
        least: usize,
        most: usize,
    },
    Row(Vec<Self>),
    /// The first that stands.
    OneOf(Vec<Self>),
    Repeat {
        node: Box<Self>,
        least: usize,
        most: usize,
    },
    /// As many as leave the rest standing, to the end of the pattern.
    Retry {
        node: Box<Self>,
        least: usize,
        most: usize,
        rest: Box<Self>,
    },
    /// The group of the pattern.
    Group(Box<Self>),
}

/// A text that is read.
struct Reading<'a> {
    text: &'a [u8],
    sets: &'a [u16; 256],
    /// What the group says if the whole has an end.
    group: Option<Span>,
}

impl Descent {
    /// `None` if the next byte does not tell enough, the pattern looks around or has several groups.
    pub(super) fn new(hir: &Hir) -> Option<Self> {
        let end = ByteSet::EMPTY;
        if hir.properties().explicit_captures_len() > 1 {
            return None;
        }
        let parts = match hir.kind() {
            HirKind::Concat(parts) => parts.as_slice(),
            _ => std::slice::from_ref(hir),
        };
        let looks = |part: &Hir| matches!(part.kind(), HirKind::Look(Look::Start));
        let (at_start, parts) = match parts.split_first() {
            Some((start, rest)) if looks(start) => (true, rest),
            _ => (false, parts),
        };
        let mut sets = Sets { of: [0; 256], known: Vec::new() };
        Some(Self { node: sets.row(parts, &end)?, at_start, sets: sets.of })
    }

    /// The match that begins at `at`, and its group.
    #[inline]
    pub(super) fn match_at(&self, text: &[u8], at: usize) -> Option<(Span, Option<Span>)> {
        if at > if self.at_start { 0 } else { text.len() } {
            return None;
        }
        let mut reading = Reading { text, sets: &self.sets, group: None };
        let end = self.node.end(&mut reading, at)?;
        Some(((at, end), reading.group))
    }
}

impl Reading<'_> {
    #[inline]
    fn sets_of(&self, byte: u8) -> u16 {
        self.sets.get(usize::from(byte)).copied().unwrap_or(0)
    }

    #[inline]
    fn has(&self, at: usize, set: Set) -> bool {
        self.text.get(at).is_some_and(|byte| self.sets_of(*byte) & set.0 != 0)
    }

    /// How many bytes of a set there are, up to `most`.
    #[inline]
    fn run(&self, at: usize, set: Set, most: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or(&[]);
        let (eights, _) = rest.get(..most).unwrap_or(rest).as_chunks::<8>();
        // PERF: benches/waf_match.rs. Eight at a time, without a branch for each.
        let all = |eight: &&[u8; 8]| eight.iter().fold(set.0, |sets, byte| sets & self.sets_of(*byte)) != 0;
        let whole = 8 * eights.iter().take_while(all).count();
        let has = |byte: &u8| self.sets_of(*byte) & set.0 != 0;
        let rest = rest.get(whole..).unwrap_or(&[]);
        let left = most - whole;
        match rest.first_chunk::<8>() {
            Some(eight) => {
                let others =
                    (0..).zip(eight).fold(0_u32, |others, (nth, byte)| others | u32::from(!has(byte)) << nth);
                whole + left.min(others.trailing_zeros() as usize)
            }
            None => whole + rest.iter().take(left).take_while(|byte| has(byte)).count(),
        }
    }
}

impl Node {
    /// Where it ends that begins at `at`.
    #[inline]
    fn end(&self, reading: &mut Reading<'_>, at: usize) -> Option<usize> {
        match self {
            Self::Text(own) => {
                let end = at + own.len();
                // Byte by byte: most are a few.
                let mut pairs = reading.text.get(at..end)?.iter().zip(own);
                pairs.all(|(byte, own)| byte == own).then_some(end)
            }
            Self::Byte(set) => reading.has(at, *set).then_some(at + 1),
            Self::Run { set, least, most } => {
                let bytes = reading.run(at, *set, *most);
                (bytes >= *least).then_some(at + bytes)
            }
            _ => self.end_of_parts(reading, at),
        }
    }

    fn end_of_parts(&self, reading: &mut Reading<'_>, at: usize) -> Option<usize> {
        match self {
            Self::Text(_) | Self::Byte(_) | Self::Run { .. } => self.end(reading, at),
            Self::RunTo { set, least, most, last } => {
                let bytes = reading.run(at, *set, *most);
                let before_last = (*least..=bytes).rev().find(|bytes| reading.has(at + bytes, *last));
                before_last.map(|bytes| at + bytes + 1)
            }
            Self::Spaced { space, set, least, most } => {
                let (mut at, mut count) = (at, 0);
                loop {
                    let run = reading.run(at, *set, *most - count);
                    (at, count) = (at + run, count + run);
                    if count == *most || !reading.has(at, *space) || !reading.has(at + 1, *set) {
                        break;
                    }
                    (at, count) = (at + 2, count + 1);
                }
                (count >= *least).then_some(at)
            }
            Self::Row(nodes) => nodes.iter().try_fold(at, |at, node| node.end(reading, at)),
            Self::OneOf(nodes) => {
                let before = reading.group;
                nodes.iter().find_map(|node| {
                    reading.group = before;
                    node.end(reading, at)
                })
            }
            Self::Repeat { node, least, most } => {
                let mut at = at;
                for nth in 0..*most {
                    let before = reading.group;
                    match node.end(reading, at) {
                        Some(end) => at = end,
                        None if nth < *least => return None,
                        None => {
                            reading.group = before;
                            break;
                        }
                    }
                }
                Some(at)
            }
            Self::Retry { node, least, most, rest } => node.end_before(reading, at, (*least, *most), rest),
            Self::Group(node) => {
                let end = node.end(reading, at)?;
                reading.group = Some((at, end));
                Some(end)
            }
        }
    }

    /// Where `rest` ends behind as many of this as leave it standing, of which there are still `least` to
    /// `most` (at first [`MAX_RETRIES`] and fewer).
    fn end_before(
        &self,
        reading: &mut Reading<'_>,
        at: usize,
        (least, most): (usize, usize),
        rest: &Self,
    ) -> Option<usize> {
        let before = reading.group;
        if most > 0
            && let Some(end) = self.end(reading, at)
        {
            let others = (least.saturating_sub(1), most - 1);
            if let Some(end) = self.end_before(reading, end, others, rest) {
                return Some(end);
            }
        }
        reading.group = before;
        if least == 0 { rest.end(reading, at) } else { None }
    }
}

/// How often a part may be repeated; `None` if as few as possible are taken.
fn counts(repetition: &Repetition) -> Option<(usize, usize)> {
    let least = usize::try_from(repetition.min).ok()?;
    let most = repetition.max.map_or(Some(usize::MAX), |most| usize::try_from(most).ok())?;
    (repetition.greedy || least == most).then_some((least, most))
}

fn class(hir: &Hir) -> Option<ByteSet> {
    let HirKind::Class(class) = hir.kind() else { return None };
    of_class(class)
}

impl Sets {
    /// The bit that stands for a set; `None` if all bits are taken.
    fn bit(&mut self, set: ByteSet) -> Option<Set> {
        let nth = self.known.iter().position(|known| *known == set).unwrap_or(self.known.len());
        let bit = 1_u16.checked_shl(u32::try_from(nth).ok()?)?;
        if nth == self.known.len() {
            for (byte, sets) in (0..=255).zip(&mut self.of) {
                *sets |= if set.has(byte) { bit } else { 0 };
            }
            self.known.push(set);
        }
        Some(Set(bit))
    }

    /// A part of a pattern; `follow` is what may stand behind it, nothing if the pattern ends there.
    fn node(&mut self, hir: &Hir, follow: &ByteSet) -> Option<Node> {
        match hir.kind() {
            HirKind::Empty => Some(Node::Row(Vec::new())),
            HirKind::Literal(literal) => Some(Node::Text(literal.0.clone())),
            HirKind::Class(_) => self.bit(class(hir)?).map(Node::Byte),
            HirKind::Look(_) => None,
            HirKind::Repetition(repetition) => self.repeat(repetition, follow),
            HirKind::Capture(capture) => Some(Node::Group(Box::new(self.node(&capture.sub, follow)?))),
            HirKind::Concat(parts) => self.row(parts, follow),
            HirKind::Alternation(parts) => {
                let others = |nth: usize| parts.iter().skip(nth + 1);
                let mut pairs = parts
                    .iter()
                    .enumerate()
                    .flat_map(|(nth, one)| others(nth).map(move |other| (one, other)));
                if *follow != ByteSet::EMPTY && !pairs.all(|(one, other)| are_apart(one, other)) {
                    return None;
                }
                parts.iter().map(|part| self.node(part, follow)).collect::<Option<_>>().map(Node::OneOf)
            }
        }
    }

    fn repeat(&mut self, repetition: &Repetition, follow: &ByteSet) -> Option<Node> {
        let (least, most) = counts(repetition)?;
        let (begins, may_be_empty) = first(&repetition.sub);
        let is_told = least == most || !begins.intersects(follow);
        if may_be_empty || !is_told {
            return None;
        }
        if let Some(set) = class(&repetition.sub) {
            return Some(Node::Run { set: self.bit(set)?, least, most });
        }
        if let Some((space, set)) = spaced(&repetition.sub) {
            let (space, set) = (self.bit(space)?, self.bit(set)?);
            return Some(Node::Spaced { space, set, least, most });
        }
        let follow = if most > 1 { begins.union(follow) } else { *follow };
        Some(Node::Repeat { node: Box::new(self.node(&repetition.sub, &follow)?), least, most })
    }

    /// Parts one behind the other.
    fn row(&mut self, parts: &[Hir], follow: &ByteSet) -> Option<Node> {
        let mut nodes = Vec::new();
        let mut parts = parts;
        while let Some((part, rest)) = parts.split_first() {
            let behind = begins(rest, follow);
            parts = rest;
            if let Some(told) = self.node(part, &behind) {
                nodes.push(told);
            } else if let Some((run, rest)) = self.run_to_last(part, rest, follow) {
                nodes.push(run);
                parts = rest;
            } else if *follow == ByteSet::EMPTY {
                nodes.push(self.retry(part, rest, &behind)?);
                break;
            } else {
                return None;
            }
        }
        match nodes.pop() {
            Some(only) if nodes.is_empty() => Some(only),
            last => {
                nodes.extend(last);
                Some(Node::Row(nodes))
            }
        }
    }

    /// A run and the byte behind it, if the run may have that too: what is behind both has none of them, so
    /// it stands behind the longest only.
    fn run_to_last<'h>(
        &mut self,
        part: &Hir,
        rest: &'h [Hir],
        follow: &ByteSet,
    ) -> Option<(Node, &'h [Hir])> {
        let HirKind::Repetition(repetition) = part.kind() else { return None };
        let (set, (least, most)) = (class(&repetition.sub)?, counts(repetition)?);
        let (last, rest) = rest.split_first()?;
        let last = class(last)?;
        if begins(rest, follow).intersects(&set.union(&last)) {
            return None;
        }
        Some((Node::RunTo { set: self.bit(set)?, least, most, last: self.bit(last)? }, rest))
    }

    /// A repetition, and all that is behind it to the end of the pattern.
    fn retry(&mut self, part: &Hir, rest: &[Hir], behind: &ByteSet) -> Option<Node> {
        let HirKind::Repetition(repetition) = part.kind() else { return None };
        let (least, most) = counts(repetition)?;
        let (begins, may_be_empty) = first(&repetition.sub);
        if may_be_empty || most > MAX_RETRIES {
            return None;
        }
        let node = Box::new(self.node(&repetition.sub, &begins.union(behind))?);
        Some(Node::Retry { node, least, most, rest: Box::new(self.row(rest, &ByteSet::EMPTY)?) })
    }
}

/// What may stand where parts begin behind which `follow` may stand.
fn begins(parts: &[Hir], follow: &ByteSet) -> ByteSet {
    let mut all = ByteSet::EMPTY;
    for part in parts {
        let (set, may_be_empty) = first(part);
        all = all.union(&set);
        if !may_be_empty {
            return all;
        }
    }
    all.union(follow)
}

/// The sets of `[ -]?[0-9]`, which have no byte in common.
fn spaced(hir: &Hir) -> Option<(ByteSet, ByteSet)> {
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let [space, last] = parts.as_slice() else { return None };
    let HirKind::Repetition(repetition) = space.kind() else { return None };
    let (space, set) = (class(&repetition.sub)?, class(last)?);
    (counts(repetition)? == (0, 1) && !space.intersects(&set)).then_some((space, set))
}

/// Whether two parts never stand at one place.
fn are_apart(one: &Hir, other: &Hir) -> bool {
    let ((begins, one_empty), (others, other_empty)) = (first(one), first(other));
    let differ = match (text(one), text(other)) {
        (Some(one), Some(other)) => one.iter().zip(other).any(|(one, other)| one != other),
        _ => false,
    };
    !one_empty && !other_empty && (differ || !begins.intersects(&others))
}

/// The text that a part begins with.
fn text(hir: &Hir) -> Option<&[u8]> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        HirKind::Concat(parts) => text(parts.first()?),
        HirKind::Capture(capture) => text(&capture.sub),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
