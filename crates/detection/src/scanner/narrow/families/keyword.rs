//! `anchor: keyword_token` and `anchor: keyword_number`: any token or number behind one of the rule's keywords.

use crate::rule::Anchor;
use crate::scanner::judge::Judge;
use crate::scanner::judge::keyword::Near;

/// The rules of an anchor whose keyword stands before a place, but one that found a value there already.
#[inline]
pub(in crate::scanner) fn by_keyword(
    judge: &mut Judge<'_>,
    body: &[u8],
    at: usize,
    anchor: Anchor,
    found: Option<usize>,
    near: &Near,
) {
    for index in near.rules().filter(|index| Some(*index) != found) {
        if judge.detector.rules.get(index).is_some_and(|rule| rule.begins.anchor == Some(anchor)) {
            judge.pattern(index, body, at, Some(near));
        }
    }
}
