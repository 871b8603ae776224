//! Who may use the management API: bearers of a configured token.

use http::HeaderMap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::envelope::ApiError;
use model::Secret;

/// Admits a request that carries one of the tokens. Without tokens nobody is admitted.
///
/// # Errors
/// The same for a missing and a wrong token.
pub fn admit(headers: &HeaderMap, tokens: &[Secret]) -> Result<(), ApiError> {
    let presented = headers.get(http::header::AUTHORIZATION).map_or(&[][..], |value| value.as_bytes());
    let token = presented.strip_prefix(b"Bearer ").unwrap_or(&[]);
    // Hashes have one length, so that comparing them takes one time.
    let hash = Sha256::digest(token);
    let known = tokens.iter().fold(subtle::Choice::from(0), |known, secret| {
        known | Sha256::digest(secret.expose().as_bytes()).ct_eq(&hash)
    });
    if bool::from(known) && !token.is_empty() { Ok(()) } else { Err(ApiError::Unauthorized) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_configured_tokens_are_admitted() {
        let headers =
            |value: &str| HeaderMap::from_iter([(http::header::AUTHORIZATION, value.parse().unwrap())]);
        let tokens = [Secret::new("one"), Secret::new("two")];
        assert_eq!(admit(&headers("Bearer two"), &tokens), Ok(()));
        for value in ["Bearer three", "two", "Bearer ", "Basic two"] {
            assert_eq!(admit(&headers(value), &tokens), Err(ApiError::Unauthorized), "{value}");
        }
        assert_eq!(admit(&headers("Bearer "), &[Secret::new("")]), Err(ApiError::Unauthorized));
        assert!(admit(&HeaderMap::new(), &tokens).is_err());
    }
}
