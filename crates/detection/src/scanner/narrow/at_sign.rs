//! Places of an `@`: an address or the authority of a URL stands around it.

use super::families::address::address;
use super::families::user_information::user_information;
use crate::scanner::judge::Judge;

/// How far before an `@` an address or a URL may begin.
const MAX_BEFORE_BYTES: usize = 256;
/// Longest label of a host name (RFC 1035 section 2.3.4), and one byte more.
const MAX_LABEL_BYTES: usize = 64;

#[inline]
pub(super) fn at_sign(judge: &mut Judge<'_>, body: &[u8], at: usize) {
    let families = &judge.detector.families;
    let behind = body.get(at + 1..).unwrap_or(&[]);
    let is_label = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    let label_bytes = behind.iter().take(MAX_LABEL_BYTES).take_while(is_label).count();
    if label_bytes == 0 {
        return;
    }
    let before = body.get(at.saturating_sub(MAX_BEFORE_BYTES)..at).unwrap_or(&[]);
    // A domain has a point.
    if behind.get(label_bytes) == Some(&b'.') {
        address(&families.address, judge, body, before, at);
    }
    user_information(&families.user_information, judge, body, before, at);
}
