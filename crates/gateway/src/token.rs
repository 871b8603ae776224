//! Gateway tokens: 256 random bits, shown once, kept as hashes, compared in constant time.

use std::time::Duration;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::mcp::ToolFilter;
use model::{Secret, TokenId};

/// What tokens begin with, so that people and secret scanners know them.
pub const PREFIX: &str = "svcgw_";

/// SHA-256 of a token. The token has 256 random bits, so no slower hash is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    pub fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Reads the hex form the store keeps.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A token of a gateway, compiled.
#[derive(Clone, Debug)]
pub struct Token {
    pub id: TokenId,
    pub hash: TokenHash,
    /// Seconds since the epoch.
    pub expires_at: Option<u64>,
    /// The tools that its callers may use; nothing for all of the gateway.
    pub tools: Option<ToolFilter>,
}

impl Token {
    /// Whether it has not expired.
    pub fn lasts(&self, now: Duration) -> bool {
        self.expires_at.is_none_or(|at| now.as_secs() < at)
    }
}

/// A new token.
///
/// # Errors
/// If the system has no random numbers.
pub fn generate() -> Result<Secret, String> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| format!("the system has no random numbers: {error}"))?;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(format!("{PREFIX}{hex}")))
}

/// The token that a request presents, if it is one that still lasts. All are compared, whatever is
/// found.
pub fn find<'t>(presented: Option<&[u8]>, tokens: &'t [Token], now: Duration) -> Option<&'t Token> {
    let presented = presented.filter(|token| !token.is_empty())?;
    let hash = TokenHash::of(presented);
    let mut found = None;
    for token in tokens {
        let is_same: bool = token.hash.0.ct_eq(&hash.0).into();
        found = if is_same && token.lasts(now) { Some(token) } else { found };
    }
    found
}

/// The token of a header value: after `Bearer`, or the whole value.
pub fn of_header(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii();
    match value.split_at_checked(7) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => token.trim_ascii(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_different_and_survive_the_store() {
        let (a, b) = (generate().unwrap(), generate().unwrap());
        assert_ne!(a.expose(), b.expose());
        assert_eq!(a.expose().len(), PREFIX.len() + 64);
        let hash = TokenHash::of(a.expose().as_bytes());
        assert_eq!(TokenHash::from_hex(&hash.to_hex()), Some(hash.clone()));
        let tokens = [Token { id: TokenId::new("t"), hash, expires_at: None, tools: None }];
        let found = |secret: &Secret| find(Some(secret.expose().as_bytes()), &tokens, Duration::ZERO);
        assert_eq!(found(&a).map(|token| token.id.as_str()), Some("t"));
        assert!(found(&b).is_none());
        assert_eq!(TokenHash::from_hex("zz"), None);
    }

    #[test]
    fn header_values_with_and_without_scheme() {
        for value in [&b"Bearer abc"[..], b"bearer  abc ", b"abc"] {
            assert_eq!(of_header(value), b"abc");
        }
        assert_eq!(of_header(b"Bearer "), b"Bearer");
        assert_eq!(of_header(b""), b"");
    }
}
