//! Who may use the management API: bearers of tokens, and users with a key.

pub mod actor;
mod first_token;
pub mod permission;
pub mod scope;

use std::net::IpAddr;
use std::sync::Arc;

use gateway::token::TokenHash;
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::error::{self, ApiError};
pub use actor::Actor;
pub use first_token::FirstToken;
use model::{Declared, Resources, Secret};
pub use permission::Permission;

/// What tokens of the API begin with, so that people and secret scanners know them.
pub const PREFIX: &str = "svcapi_";

/// Tokens and keys of the configuration: they may do everything.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    pub tokens: Vec<Secret>,
    /// E-mail addresses with their keys.
    pub keys: Vec<(String, Secret)>,
    /// Requests that each actor may send in five minutes; 0 for no end.
    pub rate_limit: u64,
    /// Whether webhooks may be in private networks.
    pub may_be_private: bool,
}

/// Who sends a request with these headers, from this address. A token wins over a key beside it.
///
/// # Errors
/// One for each way in which headers can be absent, malformed or unknown. Unknown, expired and disabled tokens are told
/// apart by nothing.
pub fn admit(
    headers: &HeaderMap,
    client: IpAddr,
    now: u64,
    operators: &Operators,
    resources: &Resources,
) -> Result<Actor, ApiError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(value) = values.next() {
        // Of two, others may read the other one.
        let value = if values.next().is_some() { &HeaderValue::from_static("") } else { value };
        let token = value.as_bytes().split_at_checked(7);
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
        let Some(token) = token.map(|(_, token)| token.trim_ascii()).filter(|token| !token.is_empty()) else {
            let chain = vec![(6111, "Invalid format for Authorization header".into())];
            return Err(ApiError { chain, ..ApiError::new(error::BAD_HEADERS, "Invalid request headers") });
        };
        let known = of_operator(token, operators).or_else(|| of_token(token, client, now, resources));
        return known.ok_or_else(|| ApiError::new(error::NOT_ALLOWED, "Invalid access token"));
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match (text("x-auth-email"), text("x-auth-key")) {
        (Some(email), Some(key)) => of_key(email, key, operators)
            .ok_or_else(|| ApiError::new(error::UNKNOWN_KEY, "Unknown X-Auth-Key or X-Auth-Email")),
        (None, None) => Err(ApiError::new(
            error::NO_CREDENTIALS,
            "Missing X-Auth-Key, X-Auth-Email or Authorization headers",
        )),
        (email, _) => {
            let missing = match email {
                None => (6100, "Missing X-Auth-Email header".into()),
                Some(_) => (6101, "Missing X-Auth-Key header".into()),
            };
            let error = ApiError::new(error::BAD_HEADERS, "Invalid request headers");
            Err(ApiError { chain: vec![missing], ..error })
        }
    }
}

/// Compares hashes, which have one length, so that it takes one time. All are compared, whatever is found.
fn of_operator(token: &[u8], operators: &Operators) -> Option<Actor> {
    let hash = Sha256::digest(token);
    let mut found = None;
    for (nth, known) in operators.tokens.iter().enumerate() {
        let is_same: bool = Sha256::digest(known.expose().as_bytes()).ct_eq(&hash).into();
        if is_same && !known.expose().is_empty() {
            found = Some(Actor::Operator { name: format!("token {nth} of the configuration") });
        }
    }
    found
}

fn of_key(email: &str, key: &str, operators: &Operators) -> Option<Actor> {
    let hash = Sha256::digest(key.as_bytes());
    let mut found = None;
    for (known, secret) in &operators.keys {
        let is_same: bool = Sha256::digest(secret.expose().as_bytes()).ct_eq(&hash).into();
        if is_same && known.eq_ignore_ascii_case(email) && !secret.expose().is_empty() {
            found = Some(Actor::Operator { name: known.clone() });
        }
    }
    found
}

/// By its hash: who does not know a token cannot choose the hash that is looked up.
fn of_token(token: &[u8], client: IpAddr, now: u64, resources: &Resources) -> Option<Actor> {
    let hash = TokenHash::of(token).to_hex();
    let found = resources.api_tokens.values().find(|token| token.hash == hash)?;
    actor::is_valid(found, client, now).then(|| Actor::Token(Arc::new(Declared::clone(found))))
}

#[cfg(test)]
impl Operators {
    fn from_tokens(tokens: &[&str]) -> Self {
        Self { tokens: tokens.iter().map(|token| Secret::new(*token)).collect(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use model::{ApiToken, TokenId};

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

    fn refused(fields: &[(&'static str, &str)], resources: &Resources) -> Option<u32> {
        let operators = Operators {
            tokens: vec![Secret::new("one"), Secret::new("two"), Secret::new("")],
            keys: vec![("a@example.com".to_owned(), Secret::new("key"))],
            rate_limit: 0,
            may_be_private: false,
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, value.parse().unwrap());
        }
        admit(&headers, CLIENT, 100, &operators, resources).err().map(|error| error.code.code)
    }

    #[test]
    fn only_known_tokens_and_keys_are_admitted() {
        let none = Resources::default();
        for value in ["Bearer two", "bearer  one", "BEARER two "] {
            assert_eq!(refused(&[("authorization", value)], &none), None, "{value}");
        }
        for (value, code) in
            [("Bearer three", 9109), ("two", 6003), ("Bearer ", 6003), ("Basic two", 6003), ("", 6003)]
        {
            assert_eq!(refused(&[("authorization", value)], &none), Some(code), "{value}");
        }
        assert_eq!(refused(&[], &none), Some(9106));
        let (email, key) = (("x-auth-email", "A@example.com"), ("x-auth-key", "key"));
        assert_eq!(refused(&[email, key], &none), None);
        assert_eq!(refused(&[email], &none), Some(6003));
        assert_eq!(refused(&[key], &none), Some(6003));
        assert_eq!(refused(&[email, ("x-auth-key", "kex")], &none), Some(9103));
        let mut two = HeaderMap::new();
        two.append("authorization", "Bearer one".parse().unwrap());
        two.append("authorization", "Bearer one".parse().unwrap());
        let two = admit(&two, CLIENT, 100, &Operators::from_tokens(&["one"]), &none);
        assert_eq!(two.unwrap_err().code.code, 6003);
        // A token wins over a key beside it, right or wrong.
        assert_eq!(refused(&[email, key, ("authorization", "Bearer x")], &none), Some(9109));
        assert_eq!(refused(&[email, ("authorization", "Bearer one")], &none), None);
    }

    #[test]
    fn tokens_are_bound_to_a_time_and_to_networks() {
        let with = |change: fn(&mut ApiToken)| {
            let mut token = ApiToken {
                deprecations: model::DeprecationSettings::default(),
                id: TokenId::new("t"),
                name: String::new(),
                hash: TokenHash::of(b"secret").to_hex(),
                is_disabled: false,
                policies: Vec::new(),
                not_before: Some(100),
                expires_on: Some(101),
                clients: vec!["192.0.2.0/24".to_owned()],
                refused_clients: vec!["192.0.2.9/32".to_owned()],
                issued_on: String::new(),
                modified_on: String::new(),
            };
            change(&mut token);
            let mut resources = Resources::default();
            resources.api_tokens.insert(token.id.clone(), Declared::at_revision(token, 1));
            refused(&[("authorization", "Bearer secret")], &resources)
        };
        assert_eq!(with(|_| ()), None);
        assert_eq!(with(|token| token.is_disabled = true), Some(9109));
        assert_eq!(with(|token| token.not_before = Some(101)), Some(9109));
        assert_eq!(with(|token| token.expires_on = Some(100)), Some(9109));
        assert_eq!(with(|token| token.clients = vec!["192.0.2.8/32".to_owned()]), Some(9109));
        assert_eq!(with(|token| token.refused_clients = vec!["192.0.2.7/32".to_owned()]), Some(9109));
    }
}
