//! Answers on values that come again and again, such as those of `User-Agent`: each thread keeps the
//! last ones, by their full bytes.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Answers one thread keeps to one question, in sets by the hash of their values.
const SLOTS: usize = 128;
/// Answers of one set. The values of a request that share a set must fit in it, or each takes the place of another
/// in every request: with one slot by hash, the odds of that are even for a dozen headers.
const SLOTS_PER_SET: usize = 4;
/// Longer values do not come again.
pub(super) const MAX_VALUE_BYTES: usize = 512;

/// Longer values are known by a hash: memory, for each thread.
const MAX_LAST_VALUE_BYTES: usize = 128 << 10;

/// A thread's answers to one question.
pub(super) struct Memo<T> {
    slots: RefCell<Vec<(Box<[u8]>, T)>>,
}

impl<T: Copy + Default> Memo<T> {
    pub(super) const fn new() -> Self {
        Self { slots: RefCell::new(Vec::new()) }
    }

    /// The answer on a value, which depends on nothing else.
    pub(super) fn answer(&self, value: &[u8], judge: impl FnOnce(&[u8]) -> T) -> T {
        if value.len() > MAX_VALUE_BYTES {
            return judge(value);
        }
        let set = set_of(value);
        if let Some(answer) = self.known(set, value) {
            return answer;
        }
        let answer = judge(value);
        let mut slots = self.slots.borrow_mut();
        if slots.is_empty() {
            slots.resize_with(SLOTS, Default::default);
        }
        let set = slots.chunks_exact_mut(SLOTS_PER_SET).nth(set).unwrap_or_default();
        set.rotate_right(1);
        if let Some(first) = set.first_mut() {
            *first = (value.into(), answer);
        }
        answer
    }

    /// The answer that a set keeps on a value. What was asked for last comes first.
    fn known(&self, set: usize, value: &[u8]) -> Option<T> {
        let mut slots = self.slots.borrow_mut();
        let set = slots.chunks_exact_mut(SLOTS_PER_SET).nth(set)?;
        let at = set.iter().position(|(known, _)| **known == *value && !value.is_empty())?;
        set.get_mut(..=at)?.rotate_right(1);
        set.first().map(|(_, answer)| *answer)
    }
}

/// The set that answers on a value are kept in.
fn set_of(value: &[u8]) -> usize {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    hasher.write(value);
    usize::try_from(hasher.finish() % (SLOTS / SLOTS_PER_SET) as u64).unwrap_or(0)
}

/// A thread's answer on the value that was asked about last, for questions that several rules ask in a row.
pub(super) struct LastAnswer<T> {
    last: RefCell<(Vec<u8>, Option<T>)>,
    last_long: RefCell<Option<(usize, u64, T)>>,
}

thread_local! {
    /// INVARIANT: the key is random, because a client that knew it could find two values of one hash, and have one judged by
    /// the answer on the other.
    static LONG_VALUES: RandomState = RandomState::new();
}

impl<T: Copy> LastAnswer<T> {
    pub(super) const fn new() -> Self {
        Self { last: RefCell::new((Vec::new(), None)), last_long: RefCell::new(None) }
    }

    /// The answer on a value, which depends on nothing else.
    pub(super) fn answer(&self, value: &[u8], judge: impl FnOnce(&[u8]) -> T) -> T {
        if value.len() > MAX_LAST_VALUE_BYTES {
            let asked = (value.len(), LONG_VALUES.with(|key| key.hash_one(value)));
            let mut last = self.last_long.borrow_mut();
            let (_, _, answer) = match *last {
                Some(known) if (known.0, known.1) == asked => known,
                _ => *last.insert((asked.0, asked.1, judge(value))),
            };
            return answer;
        }
        let mut last = self.last.borrow_mut();
        let (known, answer) = &mut *last;
        match *answer {
            Some(answer) if known == value => answer,
            _ => {
                known.clear();
                known.extend_from_slice(value);
                *answer.insert(judge(value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answer_is_that_of_its_value() {
        let last = LastAnswer::new();
        let mut judged = 0;
        let mut ask = |value: &[u8]| {
            last.answer(value, |value| {
                judged += 1;
                value.len()
            })
        };
        assert_eq!([ask(b"a"), ask(b"a"), ask(b"bc"), ask(b"a"), ask(b""), ask(b"")], [1, 1, 2, 1, 0, 0]);
        assert_eq!(judged, 4);
        let mut judged = 0;
        let mut ask = |value: &[u8]| {
            last.answer(value, |value| {
                judged += 1;
                value.iter().filter(|byte| **byte == b'y').count()
            })
        };
        // Of one length, and of one beginning and end.
        let long = [b'x'; MAX_LAST_VALUE_BYTES + 2];
        let (mut other, longer) = (long, [&long[..], b"y"].concat());
        other[MAX_LAST_VALUE_BYTES / 2] = b'y';
        let asked = [ask(&long), ask(&long), ask(&other), ask(&longer), ask(&longer), ask(&long)];
        assert_eq!((asked, judged), ([0, 0, 1, 1, 1, 0], 4));
    }

    #[test]
    fn each_value_is_judged_once_and_keeps_its_answer() {
        let memo = Memo::new();
        let mut judged = 0;
        let mut ask = |value: &[u8]| {
            memo.answer(value, |value| {
                judged += 1;
                value.first() == Some(&b'x')
            })
        };
        assert!(ask(b"x1") && !ask(b"y1") && ask(b"x1") && !ask(b""));
        let long = [b'x'; MAX_VALUE_BYTES + 1];
        assert!(ask(&long) && ask(&long));
        // Values that take each other's slots are still told apart.
        for n in 0..10 * SLOTS {
            assert!(ask(format!("x{n}").as_bytes()) && !ask(format!("y{n}").as_bytes()));
        }
        assert!(judged > 20 * SLOTS);
        // Those of one request that share a set all keep their answers.
        let values = (0..1000).map(|n| format!("y{n}"));
        let of_one_set: Vec<_> =
            values.filter(|value| set_of(value.as_bytes()) == 0).take(SLOTS_PER_SET).collect();
        let memo = Memo::new();
        let mut judged = 0;
        for value in of_one_set.iter().cycle().take(10 * SLOTS_PER_SET) {
            assert!(memo.answer(value.as_bytes(), |_| {
                judged += 1;
                true
            }));
        }
        assert_eq!((of_one_set.len(), judged), (SLOTS_PER_SET, SLOTS_PER_SET));
    }
}
