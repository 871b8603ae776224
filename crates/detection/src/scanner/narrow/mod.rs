//! Narrow: which rules may begin at a place.
//!
//! A rule says in one or more ways where its value begins. Each way is a family, a file in [`families`]; a walk over the
//! places of one kind asks the families that begin there.

mod at_sign;
pub(crate) mod families;
mod number;
pub(crate) mod shape;
mod token;

use super::find::Candidates;
use super::judge::Judge;
use families::hardware_address::hardware_address;
use shape::Group;

/// The walks over the places of a chunk, with what they keep between two chunks.
#[derive(Default)]
pub(super) struct Narrow {
    groups: Vec<Group>,
}

impl Narrow {
    /// Tries the rules of all families at their places.
    #[inline]
    pub(super) fn places(&mut self, judge: &mut Judge<'_>, body: &[u8], places: &Candidates) {
        let families = &judge.detector.families;
        families.literal.at_grams(judge, body, &places.grams);
        families.literal.at_shorts(judge, body, &places.shorts);
        // In the order of the body, so that the words before them are read once and findings need no sorting.
        let mut numbers = places.numbers.iter().copied().peekable();
        let mut tokens = places.tokens.iter().copied().peekable();
        for end in places.at_signs.iter().copied().map(Some).chain([None]) {
            let is_before = |at: usize| end.is_none_or(|end| at < end);
            while let Some(start) = numbers.next_if(|start| is_before(*start)) {
                while let Some(token) = tokens.next_if(|token| token.start < start) {
                    token::token(judge, body, token);
                }
                number::number(judge, &mut self.groups, body, start);
            }
            while let Some(token) = tokens.next_if(|token| is_before(token.start)) {
                token::token(judge, body, token);
            }
            if let Some(at) = end {
                at_sign::at_sign(judge, body, at);
            }
        }
        for at in &places.pairs {
            hardware_address(&families.hardware_address, judge, body, *at);
        }
    }
}
