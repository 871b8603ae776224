//! The AI gateway: who may call, which provider is meant, what the gateway answers itself.
//!
//! Bodies are never touched here: what the client sends is what the provider gets, and back.

pub mod answer;
pub mod limit;
pub mod metadata;
pub mod options;
pub mod price;
pub mod provider;
pub mod token;
pub mod usage;

use std::collections::HashMap;
use std::sync::Arc;

use crate::routing::GatewayPath;
use crate::upstream::Pool;
use token::TokenHash;

/// All gateways of a snapshot.
#[derive(Debug, Default)]
pub struct Gateways {
    /// By account, then by gateway.
    pub by_account: HashMap<String, HashMap<String, Gateway>>,
    /// By slug.
    pub providers: HashMap<String, Provider>,
}

/// A gateway, compiled.
#[derive(Debug)]
pub struct Gateway {
    /// `account/gateway`, for metrics.
    pub label: String,
    pub authentication: bool,
    pub tokens: Vec<TokenHash>,
}

/// A provider, compiled.
#[derive(Debug)]
pub struct Provider {
    pub slug: String,
    pub pool: Arc<Pool>,
    /// `Host` towards the provider.
    pub authority: String,
    /// What stands before the client's path.
    pub base_path: String,
}

/// What is to be done with a gateway request.
#[derive(Debug)]
pub enum Decision<'s> {
    Forward {
        gateway: &'s Gateway,
        provider: &'s Provider,
    },
    /// Answered by the gateway itself. `gateway` is known where its id was.
    Refuse {
        error: answer::GatewayError,
        gateway: Option<&'s Gateway>,
    },
}

impl Gateways {
    /// Decides on a request, before its body is read (spec, "Gateway authentication state").
    ///
    /// `presented` is what the request carries as its token, in any of the accepted forms.
    pub fn decide(&self, path: Option<GatewayPath<'_>>, presented: Option<&[u8]>) -> Decision<'_> {
        use answer::GatewayError::{InvalidProvider, Unauthorized, UnknownGateway};
        let refuse = |error, gateway| Decision::Refuse { error, gateway };
        let Some(path) = path else { return refuse(UnknownGateway, None) };
        let Some(gateway) = self.by_account.get(path.account).and_then(|gateways| gateways.get(path.gateway))
        else {
            return refuse(UnknownGateway, None);
        };
        if gateway.authentication && !token::is_valid(presented, &gateway.tokens) {
            return refuse(Unauthorized, Some(gateway));
        }
        match self.providers.get(path.provider) {
            Some(provider) => Decision::Forward { gateway, provider },
            None => refuse(InvalidProvider, Some(gateway)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateways(authentication: bool) -> Gateways {
        let token = TokenHash::of(b"right");
        let gateway = Gateway { label: "acme/main".into(), authentication, tokens: vec![token] };
        let provider = Provider {
            slug: "openai".into(),
            pool: Arc::new(Pool::new(Vec::new(), crate::model::Balance::RoundRobin, None)),
            authority: String::new(),
            base_path: String::new(),
        };
        Gateways {
            by_account: HashMap::from([("acme".to_owned(), HashMap::from([("main".to_owned(), gateway)]))]),
            providers: HashMap::from([("openai".to_owned(), provider)]),
        }
    }

    fn outcome(
        gateways: &Gateways,
        path: &str,
        presented: Option<&[u8]>,
    ) -> Result<String, answer::GatewayError> {
        match gateways.decide(GatewayPath::parse(path), presented) {
            Decision::Forward { gateway, .. } => Ok(gateway.label.clone()),
            Decision::Refuse { error, .. } => Err(error),
        }
    }

    #[test]
    fn the_state_table_row_by_row() {
        use answer::GatewayError::Unauthorized;
        let path = "/v1/acme/main/openai/x";
        type Row = (bool, Option<&'static [u8]>, Result<&'static str, answer::GatewayError>);
        let rows: &[Row] = &[
            (true, Some(b"right"), Ok("acme/main")),
            (true, None, Err(Unauthorized)),
            (true, Some(b"wrong"), Err(Unauthorized)),
            (true, Some(b""), Err(Unauthorized)),
            (false, Some(b"right"), Ok("acme/main")),
            (false, Some(b"wrong"), Ok("acme/main")),
            (false, None, Ok("acme/main")),
        ];
        for (authentication, presented, expected) in rows {
            let gateways = gateways(*authentication);
            assert_eq!(
                outcome(&gateways, path, *presented),
                expected.map(str::to_owned),
                "{authentication} {presented:?}"
            );
        }
    }

    #[test]
    fn unknown_gateways_and_providers_are_told_apart() {
        use answer::GatewayError::{InvalidProvider, Unauthorized, UnknownGateway};
        let gateways = gateways(true);
        assert_eq!(outcome(&gateways, "/v1/acme/other/openai/x", Some(b"right")), Err(UnknownGateway));
        assert_eq!(outcome(&gateways, "/v1/other/main/openai/x", Some(b"right")), Err(UnknownGateway));
        assert_eq!(outcome(&gateways, "/nothing", Some(b"right")), Err(UnknownGateway));
        assert_eq!(outcome(&gateways, "/v1/acme/main/nope/x", Some(b"right")), Err(InvalidProvider));
        // Nobody learns the providers without a token.
        assert_eq!(outcome(&gateways, "/v1/acme/main/nope/x", None), Err(Unauthorized));
    }
}
