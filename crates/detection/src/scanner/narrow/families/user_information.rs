//! `anchor: user_information`: a URL whose authority has a password and an `@` (RFC 3986 section 3.2.1).

use super::anchored::AnchoredRules;
use crate::scanner::judge::Judge;
use pattern::ByteSet;

/// What stands before the `@` of a URL: all that is printed but what URLs do not have.
const AUTHORITY: ByteSet = ByteSet::of(b"\"'<>`(){}[]|\\,@").and(0, b' ').and(0x7F, 0xFF).others();
/// Shorter passwords are placeholders.
const MIN_PASSWORD_BYTES: usize = 3;

/// At an `@` with `before` in front of it.
#[inline]
pub(in crate::scanner) fn user_information(
    rules: &AnchoredRules,
    judge: &mut Judge<'_>,
    body: &[u8],
    before: &[u8],
    at: usize,
) {
    let start = at - before.iter().rev().take_while(|byte| AUTHORITY.has(**byte)).count();
    let text = body.get(start..at).unwrap_or(&[]);
    let Some(colon) = text.array_windows().position(|three| *three == *b"://") else { return };
    // A password is behind a colon of its own.
    let password_bytes =
        text.get(colon + 3..).and_then(|user| memchr::memrchr(b':', user).map(|at| user.len() - at - 1));
    if password_bytes.is_some_and(|bytes| bytes >= MIN_PASSWORD_BYTES) {
        let scheme = text.get(..colon).unwrap_or(&[]);
        let belongs = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+.-:".contains(byte);
        let start = start + colon - scheme.iter().rev().take_while(belongs).count();
        rules.at(judge, body, start);
    }
}
