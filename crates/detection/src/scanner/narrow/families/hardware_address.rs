//! `anchor: hardware_address`: six pairs of hexadecimal digits with one separator between all.

use super::anchored::AnchoredRules;
use crate::scanner::judge::Judge;

/// Bytes of an address.
const BYTES: usize = 17;

/// At the first of five separators, each three bytes from the next.
#[inline]
pub(in crate::scanner) fn hardware_address(
    rules: &AnchoredRules,
    judge: &mut Judge<'_>,
    body: &[u8],
    at: usize,
) {
    let start = at.saturating_sub(2);
    let separator = body.get(at);
    let is_one = (1..5).all(|nth| body.get(at + 3 * nth) == separator);
    let goes_on = [start.checked_sub(1), Some(start + BYTES)];
    if is_one && goes_on.into_iter().flatten().all(|next| body.get(next) != separator) {
        rules.at(judge, body, start);
    }
}
