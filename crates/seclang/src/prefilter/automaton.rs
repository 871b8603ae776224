//! A search for many literals at once: the automaton of Aho and Corasick (CACM 18/6, 1975), with every
//! transition written out.
//!
//! ASCII case is not looked at, and white space is one. Each literal carries a number; a text is asked which numbers it
//! holds.

use std::collections::VecDeque;

/// What the search takes a byte for.
pub(crate) fn fold(byte: u8) -> u8 {
    match byte {
        b'\t'..=b'\r' => b' ',
        _ => byte.to_ascii_lowercase(),
    }
}

/// Texts from here on are walked in four places at once.
const MIN_QUARTERED_BYTES: usize = 1024;

/// The transitions of all states. A state is the place of its row.
pub(crate) struct Automaton {
    /// The column of each byte. Column 0 is that of all bytes that stand in no literal.
    columns: [u8; 256],
    rows: Vec<u32>,
    /// States from here on end a literal.
    first_match: u32,
    /// For each of those, by their order, its part of `numbers`.
    ends: Vec<std::ops::Range<usize>>,
    numbers: Vec<u32>,
    width: u32,
    longest: usize,
}

/// A state while the automaton is built.
#[derive(Clone, Default)]
struct Node {
    /// By column, 0 for none: nothing leads back to the root but failure.
    children: Vec<(u8, u32)>,
    numbers: Vec<u32>,
}

impl Automaton {
    /// An automaton of folded literals, each with the number that it stands for; `None` if it
    /// would need more than `max_rows` states. Empty literals are left out.
    pub(crate) fn new<'l>(
        literals: impl Iterator<Item = (&'l [u8], u32)> + Clone,
        max_rows: usize,
    ) -> Option<Self> {
        let mut columns = [0u8; 256];
        let mut width = 1u8;
        for byte in literals.clone().flat_map(|(literal, _)| literal) {
            let known = columns.get(usize::from(*byte)).is_some_and(|column| *column > 0);
            if !known && width < u8::MAX {
                for (other, column) in (0..=u8::MAX).zip(&mut columns) {
                    if fold(other) == *byte {
                        *column = width;
                    }
                }
                width += 1;
            }
        }
        let column = |byte: u8| columns.get(usize::from(byte)).copied().unwrap_or(0);
        let mut nodes = vec![Node::default()];
        let mut longest = 0;
        for (literal, number) in literals {
            if literal.is_empty() || literal.iter().any(|byte| column(*byte) == 0) {
                return None;
            }
            let mut at = 0;
            for byte in literal {
                let column = column(*byte);
                let next = nodes.len();
                let children = &mut nodes.get_mut(at)?.children;
                at = match children.iter().find(|(of, _)| *of == column) {
                    Some((_, child)) => *child as usize,
                    None => {
                        children.push((column, u32::try_from(next).ok()?));
                        nodes.push(Node::default());
                        next
                    }
                };
            }
            longest = longest.max(literal.len());
            let numbers = &mut nodes.get_mut(at)?.numbers;
            if !numbers.contains(&number) {
                numbers.push(number);
            }
            if nodes.len() > max_rows {
                return None;
            }
        }
        Self::of_trie(columns, usize::from(width), nodes, longest)
    }

    fn of_trie(columns: [u8; 256], width: usize, mut nodes: Vec<Node>, longest: usize) -> Option<Self> {
        // Each node after its failure, the node of its longest proper suffix, which is less deep.
        let mut rows = vec![0u32; nodes.len() * width];
        let mut failures = vec![0usize; nodes.len()];
        let mut order = Vec::with_capacity(nodes.len());
        let mut queue = VecDeque::from([0usize]);
        while let Some(at) = queue.pop_front() {
            order.push(at);
            let failure = *failures.get(at)?;
            if at > 0 {
                let inherited = nodes.get(failure)?.numbers.clone();
                nodes.get_mut(at)?.numbers.extend(inherited);
                rows.copy_within(failure * width..(failure + 1) * width, at * width);
            }
            for (column, child) in nodes.get(at)?.children.clone() {
                let transition = rows.get_mut(at * width + usize::from(column))?;
                *failures.get_mut(child as usize)? = if at > 0 { *transition as usize } else { 0 };
                *transition = child;
                queue.push_back(child as usize);
            }
        }
        // Near the root first, where most texts stay; ends of literals last.
        let is_end = |at: &usize| nodes.get(*at).is_some_and(|node| !node.numbers.is_empty());
        let (ends, others): (Vec<usize>, Vec<usize>) = order.into_iter().partition(is_end);
        let width = u32::try_from(width).ok()?;
        let mut places = vec![0u32; nodes.len()];
        let mut place = 0u32;
        for at in others.iter().chain(&ends) {
            *places.get_mut(*at)? = place;
            place = place.checked_add(width)?;
        }
        let mut automaton = Self {
            columns,
            rows: Vec::with_capacity(rows.len()),
            first_match: u32::try_from(others.len()).ok()?.checked_mul(width)?,
            ends: Vec::with_capacity(ends.len()),
            numbers: Vec::new(),
            width,
            longest,
        };
        for at in others.iter().chain(&ends) {
            let row = rows.chunks_exact(width as usize).nth(*at)?;
            automaton.rows.extend(row.iter().map(|to| places.get(*to as usize).copied().unwrap_or(0)));
        }
        for at in ends {
            let from = automaton.numbers.len();
            automaton.numbers.extend(nodes.get(at)?.numbers.iter().copied());
            automaton.ends.push(from..automaton.numbers.len());
        }
        Some(automaton)
    }

    /// Calls with the numbers of the literals that end anywhere in `text` and the place of their last byte, as often as
    /// some do.
    pub(crate) fn search(&self, text: &[u8], mut found: impl FnMut(&[u32], usize)) {
        let mut end = |state: u32, at: usize| {
            let nth = (state - self.first_match) / self.width;
            let numbers = self.ends.get(nth as usize).and_then(|range| self.numbers.get(range.clone()));
            found(numbers.unwrap_or_default(), at);
        };
        let Some((starts, [a, b, c, d])) = self.quarters(text) else {
            let mut state = 0;
            for (at, byte) in text.iter().enumerate() {
                state = self.next(state, *byte);
                if state >= self.first_match {
                    end(state, at);
                }
            }
            return;
        };
        // Each step of a walk waits for the one before; four walks wait for each other's.
        let (mut w, mut x, mut y, mut z) = (0, 0, 0, 0);
        for (at, (((a, b), c), d)) in a.iter().zip(b).zip(c).zip(d).enumerate() {
            w = self.next(w, *a);
            x = self.next(x, *b);
            y = self.next(y, *c);
            z = self.next(z, *d);
            if w.max(x).max(y.max(z)) >= self.first_match {
                let ends =
                    [w, x, y, z].into_iter().zip(starts).filter(|(state, _)| *state >= self.first_match);
                ends.for_each(|(state, start)| end(state, start + at));
            }
        }
    }

    #[inline(always)]
    fn next(&self, state: u32, byte: u8) -> u32 {
        let column = self.columns.get(usize::from(byte)).copied().unwrap_or(0);
        self.rows.get(state as usize + usize::from(column)).copied().unwrap_or(0)
    }

    /// Four parts of a long text, of one length, so that each literal lies in one of them, and where they begin.
    fn quarters<'t>(&self, text: &'t [u8]) -> Option<([usize; 4], [&'t [u8]; 4])> {
        let quarter = text.len() / 4;
        let length = text.len() - 3 * quarter + self.longest;
        if text.len() < MIN_QUARTERED_BYTES.max(length) {
            return None;
        }
        let starts = [0, 1, 2, 3].map(|nth| (nth * quarter).min(text.len() - length));
        let parts = starts.map(|start| text.get(start..start + length).unwrap_or_default());
        Some((starts, parts))
    }

    /// How many states it has.
    pub(crate) fn states(&self) -> usize {
        self.rows.len() / self.width as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(automaton: &Automaton, text: &[u8]) -> Vec<u32> {
        let mut numbers = Vec::new();
        automaton.search(text, |found, _| numbers.extend_from_slice(found));
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    #[test]
    fn finds_what_a_plain_search_finds() {
        let literals: &[&[u8]] =
            &[b"he", b"she", b"his", b"hers", b"e", b"abab", b"bab", b"ab", b"\xff\0", b"sher", b"aaaa"];
        let automaton = Automaton::new(literals.iter().copied().zip(0..), usize::MAX).unwrap();
        assert_eq!(automaton.states(), 24);
        let (mut state, mut checked) = (7u32, 0);
        for length in (0..300).chain([1023, 1024, 1025, 3000]) {
            let text: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"heSHrsiabABx\xff\0.".get(state as usize >> 24 & 15).copied().unwrap_or(b'a')
                })
                .collect();
            let lower = text.to_ascii_lowercase();
            let expected: Vec<u32> = (0..)
                .zip(literals)
                .filter(|(_, l)| lower.windows(l.len()).any(|w| w == **l))
                .map(|(n, _)| n)
                .collect();
            assert_eq!(found(&automaton, &text), expected, "{text:?}");
            checked += 1;
        }
        assert!(checked > 300);
    }

    #[test]
    fn no_place_in_a_long_text_is_missed() {
        let automaton = Automaton::new([(&b"literal"[..], 3)].into_iter(), usize::MAX).unwrap();
        let mut checked = 0;
        for length in [1000, 1023, 1024, 1025, 1026, 1027, 2047, 5000] {
            for at in 0..length - 7 {
                let mut text = vec![b'.'; length];
                text[at..at + 7].copy_from_slice(b"LiteraL");
                let mut ends = Vec::new();
                automaton.search(&text, |numbers, end| ends.push((numbers.to_vec(), end)));
                ends.dedup();
                assert_eq!(ends, [(vec![3], at + 6)], "{at} of {length}");
                checked += 1;
            }
        }
        assert!(checked > 10_000);
    }

    #[test]
    fn too_many_states_are_refused() {
        let literals = [&b"abc"[..], b"abd"];
        assert!(Automaton::new(literals.into_iter().zip(0..), 4).is_none());
        assert!(Automaton::new(literals.into_iter().zip(0..), 5).is_some_and(|found| found.states() == 5));
        assert!(Automaton::new([(&b""[..], 0)].into_iter(), 5).is_none());
    }
}
