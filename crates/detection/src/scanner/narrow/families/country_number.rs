//! `anchor: country_and_check_digits`: numbers that begin with two capital letters and two digits, as an IBAN does.

use super::anchored::AnchoredRules;
use crate::scanner::judge::{Judge, ValueWords, is_whole};
use crate::scanner::narrow::shape::Group;

#[inline]
pub(in crate::scanner) fn country_number(
    rules: &AnchoredRules,
    judge: &mut Judge<'_>,
    body: &[u8],
    group: Group,
) {
    let text = body.get(group.start..group.end).unwrap_or(&[]);
    if let [b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9', ..] = text {
        rules.iter().for_each(|rule| longest_valid(judge, rule, body, group.start));
    }
}

/// A value whose length only its check knows: a word in capitals may stand behind it.
fn longest_valid(judge: &mut Judge<'_>, index: usize, body: &[u8], start: usize) {
    let Some(rule) = judge.wanted(index) else { return };
    let window = body.get(start..body.len().min(start + rule.max_bytes)).unwrap_or(&[]);
    let found = rule.pattern.as_ref().and_then(|pattern| pattern.match_at(window, 0));
    let mut end = found.map_or(0, |((_, end), _)| end);
    while end > 0 {
        if is_whole(body, start, start + end)
            && judge.value(index, body, start, start + end, ValueWords::Unread)
        {
            return;
        }
        let shorter = window.get(..end).unwrap_or(&[]);
        end = shorter.iter().rposition(|byte| matches!(byte, b' ' | b'-')).unwrap_or(0);
    }
}
