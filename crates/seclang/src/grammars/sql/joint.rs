//! Joints: places in the middle of a text where a statement may go on behind a number or a name.
//!
//! Words like `or` and `and` join sentences too, so that only what no sentence goes on with counts: a comparison of
//! two constants, a subquery, a call that waits or fails on purpose, a further statement with all its parts.

use super::continuation::{Before, READERS, after, continuation};
use super::token::{Kind, Token, TokenReader, is_space, is_word_byte, may_continue, tokens};
use crate::grammars::byte_pairs::BytePairs;
use crate::grammars::{Differences, Finding, Strength};

/// Bytes before a joint in which a statement of the text's own is looked for.
const STATEMENT_BYTES: usize = 512;
/// Bytes behind a joint that tell.
const WINDOW_BYTES: usize = 160;

/// The first joint at which a statement goes on.
pub(super) fn joint(value: &[u8], differences: &Differences) -> Option<Finding> {
    let mut from = 0;
    while let Some(at) = next(value, from) {
        let window = value.get(at..(at + WINDOW_BYTES).min(value.len()))?;
        let is_own = || value.get(at.saturating_sub(STATEMENT_BYTES)..at).is_some_and(has_query);
        let is_new = || differences.touch(at.saturating_sub(STATEMENT_BYTES)..at + WINDOW_BYTES);
        if may_go_on(window) && is_new() && goes_on(&tokens(window), before(value, at), is_own) {
            return Some(Finding { strength: Strength::Certain, from: at });
        }
        from = at + 1;
    }
    None
}

/// What joints begin with: `or`, `group`, `and`, `union`, `xor`, `having`, `waitfor`, `||`, `&&`, `;`.
const BEGINNINGS: BytePairs = BytePairs::of(&[
    (b"oOgG", b"rR"),
    (b"aAuU", b"nN"),
    (b"xX", b"oO"),
    (b"hHwW", b"aA"),
    (b"|", b"|"),
    (b"&", b"&"),
    (b";", b""),
]);

/// All bits for the bytes that a joint stands behind.
const BEFORE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if !is_word_byte(byte as u8) || (byte as u8).is_ascii_digit() {
            table[byte] = u16::MAX;
        }
        byte += 1;
    }
    table
};

/// The next place where a word or a sign joins what stands before it and something that is no plain word.
fn next(value: &[u8], from: usize) -> Option<usize> {
    let from = from.max(1) - 1;
    let rest = value.get(from..)?;
    let begins = |triple: &[u8]| match triple {
        [before, first, second] => {
            let is_behind = BEFORE.get(usize::from(*before)).copied().unwrap_or_default();
            is_behind & BEGINNINGS.kinds(*first, *second) != 0
        }
        _ => false,
    };
    let places = rest.windows(3).enumerate().filter(|(_, triple)| begins(triple));
    places.map(|(at, _)| from + at + 1).find(|at| value.get(*at..).is_some_and(is_joint))
}

fn is_joint(rest: &[u8]) -> bool {
    if let [b';', after @ ..] = rest {
        let spaces = after.iter().take_while(|byte| **byte <= b' ').count();
        let (spaces, statement) = after.split_at(spaces);
        // In a script a semicolon ends a line, and the next statement is no injection. Of several semicolons in a
        // row only the last one is looked at.
        return !spaces.contains(&b'\n') && statement.first() != Some(&b';');
    }
    if matches!(rest, [b'|', b'|', ..] | [b'&', b'&', ..]) {
        return may_compare(rest.get(2..).unwrap_or_default());
    }
    let length = rest.iter().take(8).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, after) = rest.split_at(length);
    if after.first().is_none_or(|byte| is_word_byte(*byte) && !byte.is_ascii_digit()) {
        return false;
    }
    let is = |joint: &[u8]| word.eq_ignore_ascii_case(joint);
    match () {
        () if is(b"or") || is(b"and") || is(b"xor") || is(b"having") => may_compare(after),
        () => is(b"union") || is(b"order") || is(b"group") || is(b"waitfor"),
    }
}

/// Whether what follows a joint may be a condition: no plain word, as in a sentence, but for a call and a constant.
fn may_compare(after: &[u8]) -> bool {
    let skip = |text: &[u8]| text.iter().take_while(|byte| **byte <= b' ').count();
    let operand = after.get(skip(after)..).unwrap_or_default();
    let length = operand.iter().take(32).take_while(|byte| is_word_byte(**byte)).count();
    let (word, behind) = operand.split_at(length);
    if !word.first().is_some_and(u8::is_ascii_alphabetic) {
        return !operand.is_empty();
    }
    behind.get(skip(behind)..).is_some_and(|behind| behind.first() == Some(&b'('))
        || ["not", "exists", "true", "false", "null"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a statement that stands by itself begins in a text: what goes on with it leaves no other.
pub(super) fn has_query(before: &[u8]) -> bool {
    memchr::memchr2_iter(b's', b'S', before)
        .any(|at| before.get(at..at + 6).is_some_and(|word| word.eq_ignore_ascii_case(b"select")))
}

/// Whether [`goes_on`] may say so, as far as the next few tokens tell. Behind most joints they rule it out.
fn may_go_on(window: &[u8]) -> bool {
    let mut tokens = TokenReader::new(window);
    match tokens.next().map(|first| first.kind) {
        // Subqueries and calls have a parenthesis.
        Some(Kind::Logic) => {
            is_tautology(tokens) || memchr::memchr(b'(', window).is_some() && may_continue(window)
        }
        _ => may_continue(window),
    }
}

/// `1=1`: whether tokens compare constants; program text does so, too, but with `==`.
fn is_tautology<'v>(tokens: impl Iterator<Item = Token<'v>>) -> bool {
    let is_constant = |token: Token<'_>| is_literal(&token);
    let mut operands =
        tokens.filter(|token| !matches!(token.kind, Kind::Open | Kind::Close | Kind::Arithmetic));
    if !operands.next().is_some_and(is_constant) {
        return false;
    }
    // Sums of constants, casts and rows.
    let is_part =
        |token: &Token<'_>| is_literal(token) || matches!(token.kind, Kind::Cast | Kind::Comma | Kind::Name);
    operands
        .find(|token| !is_part(token))
        .is_some_and(|token| token.kind == Kind::Comparison && token.text != b"==")
        && operands.next().is_some_and(is_constant)
}

/// Whether a number or a name stands before a joint.
fn before(value: &[u8], at: usize) -> Before {
    let last = value.get(..at).unwrap_or_default().iter().rfind(|byte| !is_space(**byte));
    if last.is_some_and(u8::is_ascii_digit) { Before::Number } else { Before::Name }
}

/// What follows a constant: a literal, or a call of a function of the database with constants alone.
fn after_constant<'t, 'v>(mut tokens: &'t [Token<'v>]) -> Option<&'t [Token<'v>]> {
    while let [Token { kind: Kind::Open | Kind::Arithmetic, .. }, rest @ ..] = tokens {
        tokens = rest;
    }
    let mut depth = 0usize;
    while let Some((token, rest)) = tokens.split_first() {
        tokens = rest;
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.checked_sub(1)?,
            Kind::Comma | Kind::Arithmetic if depth > 0 => {}
            Kind::Name | Kind::Statement if READERS.iter().any(|function| token.is(function)) => {
                matches!(tokens, [Token { kind: Kind::Open, .. }, ..]).then_some(())?;
            }
            _ if is_literal(token) => {}
            _ => return None,
        }
        if depth == 0 && (token.kind == Kind::Close || is_literal(token)) {
            return Some(after(tokens, Kind::Close));
        }
    }
    None
}

/// Whether constants are compared with each other: `char(65)=char(65)`, `length('a')>0`.
fn compares_constants(tokens: &[Token<'_>]) -> bool {
    let sum = after_constant(tokens).map(|mut rest| {
        while matches!(rest, [Token { kind: Kind::Arithmetic | Kind::Cast, .. }, ..]) {
            let after_cast = match rest {
                [Token { kind: Kind::Cast, .. }, _, after @ ..] => Some(after),
                _ => after_constant(rest),
            };
            let Some(after) = after_cast else { break };
            rest = after;
        }
        rest
    });
    sum.is_some_and(|rest| match rest {
        [Token { kind: Kind::Comparison, text }, right @ ..] => {
            *text != b"==" && after_constant(right).is_some()
        }
        _ => false,
    })
}

fn is_literal(token: &Token<'_>) -> bool {
    matches!(token.kind, Kind::Number | Kind::Constant | Kind::Text { is_closed: true })
}

/// What follows numbers with commas between them.
fn after_numbers<'t, 'v>(mut tokens: &'t [Token<'v>]) -> Option<&'t [Token<'v>]> {
    while let [Token { kind: Kind::Number, .. }, Token { kind: Kind::Comma, .. }, after @ ..] = tokens {
        tokens = after;
    }
    tokens.split_first().filter(|(last, _)| last.kind == Kind::Number).map(|(_, after)| after)
}

/// Whether the tokens from a joint on are no sentence, and go on with no statement of the text's own.
fn goes_on(tokens: &[Token<'_>], before: Before, is_own: impl Fn() -> bool) -> bool {
    let Some((first, rest)) = tokens.split_first() else { return false };
    let before = if first.kind == Kind::Clause { before } else { Before::Name };
    if continuation(tokens, before) != Some(Strength::Certain)
        && !(first.kind == Kind::Logic && compares_constants(rest))
    {
        return false;
    }
    let has = |word: &str| rest.iter().any(|token| token.is(word));
    match first.kind {
        // `or 1=1`, `and (select …)`, `and sleep(5)`: not `and count(x)`, which programs and tables say.
        Kind::Logic => {
            let has_subquery = rest
                .windows(2)
                .any(|pair| matches!(pair, [open, query] if open.kind == Kind::Open && query.is("select")));
            compares_constants(rest) || has_subquery || super::continuation::calls_weapon(rest)
        }
        Kind::SetOperation => !is_own(),
        Kind::Statement => first.is("waitfor"),
        Kind::Clause => {
            // `order by 3` without more is said, too.
            let ends = rest.get(1..).and_then(after_numbers).is_some_and(|after| match (after, before) {
                ([], Before::Number) => false,
                (after, _) => matches!(after, [] | [Token { kind: Kind::Comment { .. }, .. }, ..]),
            });
            ends && !is_own()
        }
        Kind::Semicolon => match rest.first() {
            _ if is_own() => false,
            Some(statement) if statement.is("insert") => has("values") || has("select"),
            Some(statement) if statement.is("delete") => {
                has("where")
                    || matches!(
                        rest.get(3),
                        None | Some(Token { kind: Kind::Semicolon | Kind::Comment { .. }, .. })
                    )
            }
            Some(statement) if statement.kind == Kind::Query => {
                has("from")
                    && rest.iter().any(|token| {
                        matches!(token.kind, Kind::Open | Kind::Number | Kind::Variable | Kind::Comma)
                    })
                    || super::continuation::calls_weapon(rest)
            }
            // `update a set b = …`
            Some(statement) if statement.is("update") => match rest {
                [_, _, set, _, operator, ..] => set.is("set") && operator.text == b"=",
                _ => false,
            },
            Some(statement) => !statement.is("set"),
            None => false,
        },
        _ => false,
    }
}
