//! Operands: what conditions compare and calls compute, in the forms of all dialects.

use super::continuation::{READERS, WEAPONS, after as after_all};
use super::token::{Kind, Token};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Literal,
    Text,
    Query,
    /// A call; whether the function is known.
    Call {
        is_known: bool,
    },
    Column,
}

/// An operand and what follows it.
pub(super) fn operand<'t, 'v>(tokens: &'t [Token<'v>]) -> Option<(Operand, &'t [Token<'v>])> {
    let mut rest = tokens;
    let mut is_row = false;
    loop {
        rest = match rest {
            [Token { kind, .. }, after @ ..] if matches!(kind, Kind::Arithmetic | Kind::Open) => {
                is_row |= *kind == Kind::Open;
                after
            }
            // `{d '2000-01-01'}`
            [brace, Token { kind: Kind::Name, .. }, after @ ..] if brace.text == b"{" => after,
            _ => break,
        };
    }
    let (first, after) = rest.split_first()?;
    let (operand, after) = match first.kind {
        Kind::Number | Kind::Constant | Kind::Variable => (Operand::Literal, after),
        Kind::Text { .. } => (Operand::Text, after),
        Kind::Query if first.is("select") => (Operand::Query, after),
        Kind::Expression
            if first.is("exists") || first.is("case") && after.iter().any(|token| token.is("when")) =>
        {
            (Operand::Query, after)
        }
        Kind::Name | Kind::Statement | Kind::Query | Kind::Expression => match after {
            [Token { kind: Kind::Open, .. }, arguments @ ..] => {
                let is_known = READERS.iter().chain(WEAPONS).any(|function| first.is(function));
                (Operand::Call { is_known }, past_close(arguments))
            }
            _ => (Operand::Column, past_parts(after)),
        },
        _ => return None,
    };
    let after = match after {
        // `(1, 2)`
        [Token { kind: Kind::Comma, .. }, ..] if is_row => past_close(after),
        _ => past_casts(after),
    };
    Some((operand, past_casts(after_all(after, Kind::Close))))
}

/// What follows the parts of a name: `.column`, `[1]`.
fn past_parts<'t, 'v>(mut tokens: &'t [Token<'v>]) -> &'t [Token<'v>] {
    loop {
        tokens = match tokens {
            [Token { kind: Kind::Dot, .. }, Token { kind: Kind::Name, .. }, after @ ..] => after,
            [Token { kind: Kind::Name, text: [b'[', ..] }, after @ ..] => after,
            _ => return tokens,
        };
    }
}

/// What follows `::type`, and the brace that ends an escape.
fn past_casts<'t, 'v>(mut tokens: &'t [Token<'v>]) -> &'t [Token<'v>] {
    loop {
        tokens = match tokens {
            [Token { kind: Kind::Cast, .. }, Token { kind: Kind::Name, .. }, after @ ..] => past_parts(after),
            [brace, after @ ..] if brace.text == b"}" => after,
            _ => return tokens,
        };
    }
}

/// What follows an expression that begins with an operand, and whether all of its operands are literals.
pub(super) fn past_sum<'t, 'v>(mut tokens: &'t [Token<'v>]) -> (&'t [Token<'v>], bool) {
    let mut is_literal = true;
    while let [Token { kind: Kind::Arithmetic, .. }, ..] = tokens
        && let Some((next, after)) = operand(tokens)
    {
        is_literal &= next == Operand::Literal;
        tokens = after;
    }
    (tokens, is_literal)
}

/// What follows the parenthesis that closes the arguments of a call.
fn past_close<'t, 'v>(tokens: &'t [Token<'v>]) -> &'t [Token<'v>] {
    let mut depth = 1usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return tokens.get(at + 1..).unwrap_or_default();
        }
    }
    &[]
}
