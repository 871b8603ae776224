//! `anchor: address`: the local part of an address, an `@` behind it (RFC 5322 section 3.4.1, without quoted forms).

use super::anchored::AnchoredRules;
use crate::scanner::judge::Judge;
use pattern::ByteSet;

/// What stands before the `@` of an address.
const LOCAL_PART: ByteSet = ByteSet::of(b"._%+-'").and(b'a', b'z').and(b'A', b'Z').and(b'0', b'9');

/// At an `@` with `before` in front of it.
#[inline]
pub(in crate::scanner) fn address(
    rules: &AnchoredRules,
    judge: &mut Judge<'_>,
    body: &[u8],
    before: &[u8],
    at: usize,
) {
    let start = at - before.iter().rev().take_while(|byte| LOCAL_PART.has(**byte)).count();
    rules.at(judge, body, start);
}
