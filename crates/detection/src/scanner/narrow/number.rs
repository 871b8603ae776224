//! Places where a number begins: groups of capital letters and digits, each of which may begin a value.

use super::families::country_number::country_number;
use super::families::keyword::by_keyword;
use super::shape::{self, Group, Groups};
use crate::rule::Anchor;
use crate::scanner::judge::keyword::Near;
use crate::scanner::judge::{Judge, is_date_or_fraction, is_timestamp};

/// Groups of a number that share the words before the first of them.
const MAX_SHARED_GROUPS: usize = 8;

/// The number that begins at `start`; `read` is memory to use again.
#[inline]
pub(super) fn number(judge: &mut Judge<'_>, read: &mut Vec<Group>, body: &[u8], start: usize) {
    if is_timestamp(body.get(start..).unwrap_or(&[])) {
        return;
    }
    // The words before a group are those before the groups behind it too.
    let mut near: Option<Near> = None;
    let mut groups = Groups::of(body, start, std::mem::take(read));
    for nth in 0.. {
        let Some(group) = groups.ahead().first().copied() else { break };
        let at = group.start;
        if shape::begins_number(body, at) {
            judge.detector.families.shaped_number.at(judge, body, groups.ahead(), &mut near);
            if at == start {
                first_group(judge, body, at, &mut near);
            }
        }
        country_number(&judge.detector.families.country_number, judge, body, group);
        // A group with letters may be a keyword itself.
        if group.has_letters || nth % MAX_SHARED_GROUPS == MAX_SHARED_GROUPS - 1 {
            near = None;
        }
        groups.pop();
    }
    *read = groups.into_read();
}

#[inline]
fn first_group(judge: &mut Judge<'_>, body: &[u8], at: usize, near: &mut Option<Near>) {
    let found = judge.detector.families.signed_number.at(judge, body, at);
    if is_date_or_fraction(body.get(at..).unwrap_or(&[])) {
        return;
    }
    let near = near.get_or_insert_with(|| judge.near(body, at));
    by_keyword(judge, body, at, Anchor::KeywordNumber, found, near);
}
