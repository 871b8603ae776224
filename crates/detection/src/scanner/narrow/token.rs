//! Places where a token begins: sixteen and more letters, digits, hyphens and underscores.

use super::families::keyword::by_keyword;
use crate::rule::Anchor;
use crate::scanner::find::{MAX_TOLD_TOKEN_BYTES, Token};
use crate::scanner::judge::{Judge, has_joint, is_behind_sign};

#[inline]
pub(super) fn token(judge: &mut Judge<'_>, body: &[u8], token: Token) {
    let families = &judge.detector.families;
    let start = token.start;
    families.token_beginning.at(judge, body, start);
    // A value that is known by its length has a digit; one that is known by its keyword has one, or stands right behind
    // a sign for values.
    if token.has_digit {
        let bytes = token.bytes.min(MAX_TOLD_TOKEN_BYTES) as usize;
        families.token_length.at(judge, body, start, bytes);
    } else if !is_behind_sign(body, start) || has_joint(body, token) {
        return;
    }
    let near = judge.near(body, start);
    by_keyword(judge, body, start, Anchor::KeywordToken, None, &near);
}
