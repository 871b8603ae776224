//! GraphQL: what a query costs before it is run.
//!
//! Read by the lexical grammar of the GraphQL specification (§2.1): names, marks, strings and comments.

/// Fragments whose spreads are followed.
const MAX_FRAGMENTS: usize = 64;

/// The counts that a server's limits are set on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GraphqlCost {
    /// Selection sets within each other.
    pub depth: usize,
    /// `a: field`
    pub aliases: usize,
    /// `@include`
    pub directives: usize,
    /// The most times that one field follows itself.
    pub repeats: usize,
    /// Fragments that lead back to themselves.
    pub cycles: usize,
    pub operations: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'q> {
    Name(&'q [u8]),
    Mark(u8),
    Spread,
}

impl GraphqlCost {
    /// Of a document; `None` if the text is none.
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        let mut cost = Self::default();
        let (mut braces, mut parentheses) = (0usize, 0usize);
        let (mut last, mut before_last) = (None, None);
        let mut repeats = 0;
        let mut spreads: Vec<(&[u8], &[u8])> = Vec::new();
        let mut fragment: Option<&[u8]> = None;
        let mut is_first = true;
        for token in Tokens(text) {
            if is_first && !begins_document(token) {
                return None;
            }
            is_first = false;
            match token {
                Token::Mark(b'{') if parentheses == 0 => {
                    // A query may do without its keyword.
                    if braces == 0 && !matches!(last, Some(Token::Name(_))) {
                        fragment = None;
                    }
                    braces += 1;
                    cost.depth = cost.depth.max(braces);
                }
                Token::Mark(b'}') if parentheses == 0 => braces = braces.saturating_sub(1),
                Token::Mark(b'(') => parentheses += 1,
                Token::Mark(b')') => parentheses = parentheses.saturating_sub(1),
                Token::Mark(b'@') => cost.directives += 1,
                Token::Mark(b':') if parentheses == 0 && braces > 0 => cost.aliases += 1,
                Token::Name(name) if braces == 0 => match (last, name) {
                    (Some(Token::Name(b"fragment")), name) => fragment = Some(name),
                    (_, b"query" | b"mutation" | b"subscription") => {
                        cost.operations += 1;
                        fragment = None;
                    }
                    _ => {}
                },
                Token::Name(name) => {
                    if last == Some(Token::Spread)
                        && let Some(fragment) = fragment
                        && spreads.len() < MAX_FRAGMENTS
                    {
                        spreads.push((fragment, name));
                    }
                    let follows_itself = last == Some(token)
                        || (matches!(last, Some(Token::Mark(_))) && before_last == Some(token));
                    repeats = if follows_itself { repeats + 1 } else { 0 };
                    cost.repeats = cost.repeats.max(repeats);
                }
                _ => {}
            }
            before_last = last;
            last = Some(token);
        }
        cost.cycles = spreads.iter().filter(|(from, _)| leads_back(from, &spreads)).count();
        (cost.depth > 0).then_some(cost)
    }
}

fn begins_document(token: Token<'_>) -> bool {
    matches!(token, Token::Mark(b'{') | Token::Name(b"query" | b"mutation" | b"subscription" | b"fragment"))
}

fn leads_back(start: &[u8], spreads: &[(&[u8], &[u8])]) -> bool {
    let mut reached = vec![start];
    let mut at = 0;
    while let Some(name) = reached.get(at).copied() {
        for (_, to) in spreads.iter().filter(|(from, _)| *from == name) {
            if *to == start {
                return true;
            }
            if !reached.contains(to) {
                reached.push(to);
            }
        }
        at += 1;
    }
    false
}

struct Tokens<'q>(&'q [u8]);

impl<'q> Iterator for Tokens<'q> {
    type Item = Token<'q>;

    fn next(&mut self) -> Option<Token<'q>> {
        loop {
            let (&byte, after) = self.0.split_first()?;
            let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            match byte {
                b'#' => self.0 = after.get(memchr::memchr(b'\n', after)?..)?,
                b'"' => self.0 = past_string(self.0),
                b'.' if self.0.starts_with(b"...") => {
                    self.0 = self.0.get(3..)?;
                    return Some(Token::Spread);
                }
                _ if is_name(&byte) => {
                    let length = self.0.iter().take_while(|byte| is_name(byte)).count();
                    let (name, rest) = self.0.split_at_checked(length)?;
                    self.0 = rest;
                    return Some(Token::Name(name));
                }
                b'{' | b'}' | b'(' | b')' | b'@' | b':' | b'[' | b']' | b'$' | b'!' | b'=' | b'|' | b'&' => {
                    self.0 = after;
                    return Some(Token::Mark(byte));
                }
                _ => self.0 = after,
            }
        }
    }
}

/// What follows a string or a block string.
fn past_string(text: &[u8]) -> &[u8] {
    if let Some(block) = text.strip_prefix(b"\"\"\"") {
        return memchr::memmem::find(block, b"\"\"\"").and_then(|at| block.get(at + 3..)).unwrap_or_default();
    }
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' | b'\n' => return text.get(at + 1..).unwrap_or_default(),
            _ => at += 1,
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let of = |text: &str| GraphqlCost::of(text.as_bytes());
        assert_eq!(of("not a query"), None);
        assert_eq!(of("{\"a\": 1}").map(|cost| cost.aliases), Some(1));
        let cost =
            of("query A($x: Int = 1) { a: user(id: \"}{ @\") @include(if: true) { name # {{{\n } }").unwrap();
        assert_eq!((cost.depth, cost.aliases, cost.directives, cost.operations), (2, 1, 1, 1));
        assert_eq!(of(&format!("{}x{}", "{a".repeat(30), "}".repeat(30))).unwrap().depth, 30);
        assert_eq!(of("{__typename __typename __typename}").unwrap().repeats, 2);
        assert_eq!(of("fragment A on T { ...B } fragment B on T { ...A } { ...A }").unwrap().cycles, 2);
        assert_eq!(of("fragment A on T { b } query { ...A ...A }").unwrap().cycles, 0);
        assert_eq!(of("{ a \"\"\"x {{{ \"\"\" b \"unterminated").unwrap().depth, 1);
    }
}
