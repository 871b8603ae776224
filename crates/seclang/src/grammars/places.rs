//! Places of something in a text, asked for from ever later places on.

/// Where something first stands in a text.
pub(super) type Find = fn(&[u8]) -> Option<usize>;

/// Where something stands in a text. Whoever asks from ever later places on has each part of the text searched once.
pub(super) struct Places<'v> {
    text: &'v [u8],
    find: Find,
    /// The place last asked from, and the first one that is not before it.
    known: Option<(usize, Option<usize>)>,
}

impl<'v> Places<'v> {
    /// `find` is asked of what is left of the text.
    pub(super) fn new(text: &'v [u8], find: Find) -> Self {
        Self { text, find, known: None }
    }

    /// The first place that is not before `from`.
    pub(super) fn next(&mut self, from: usize) -> Option<usize> {
        match self.known {
            Some((asked, next)) if asked <= from && next.is_none_or(|next| from <= next) => next,
            _ => {
                let next = self.text.get(from..).and_then(self.find).map(|ahead| from + ahead);
                self.known = Some((from, next));
                next
            }
        }
    }

    /// The first one within a part of the text.
    pub(super) fn within(&mut self, part: std::ops::Range<usize>) -> Option<usize> {
        self.next(part.start).filter(|at| *at < part.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_that_of_a_search_from_there() {
        let text = b"..x..xx...x..";
        let find = |text: &[u8]| text.iter().position(|byte| *byte == b'x');
        for order in [(0..=14).collect::<Vec<_>>(), (0..=14).rev().collect(), vec![3, 9, 2, 14, 0, 6, 5, 11]]
        {
            let mut places = Places::new(text, find);
            for from in order {
                let expected = text.get(from..).and_then(find).map(|ahead| from + ahead);
                assert_eq!(places.next(from), expected, "{from}");
                assert_eq!(places.within(from..8), expected.filter(|at| *at < 8), "{from}");
            }
        }
    }
}
