//! Gateways, their tokens and the providers they reach.

use std::collections::HashMap;
use std::sync::Arc;

use super::Compiling;
use crate::ai::token::TokenHash;
use crate::ai::{Gateway, Gateways, Provider, provider};
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Balance, Resources};
use crate::upstream::{OriginKey, Pool};

impl Compiling<'_> {
    pub(super) fn gateways(&mut self, resources: &Resources) -> Gateways {
        let mut by_account: HashMap<String, HashMap<String, Gateway>> = HashMap::new();
        for gateway in resources.gateways.values() {
            let of_gateway = |token: &&crate::model::GatewayToken| {
                token.account == gateway.account && token.gateway == gateway.id
            };
            let tokens = resources
                .tokens
                .values()
                .filter(of_gateway)
                .filter_map(|token| TokenHash::from_hex(&token.hash));
            let compiled = Gateway {
                label: format!("{}/{}", gateway.account, gateway.id),
                authentication: gateway.authentication,
                tokens: tokens.collect(),
            };
            by_account
                .entry(gateway.account.to_string())
                .or_default()
                .insert(gateway.id.to_string(), compiled);
        }
        let known = provider::KNOWN.iter().filter_map(|known| match known.place {
            provider::Place::Base(base) | provider::Place::OptionalV1(base) => {
                Some((known.slug.to_owned(), base.to_owned()))
            }
            _ => None,
        });
        let declared =
            resources.providers.values().map(|provider| (provider.slug.clone(), provider.base_url.clone()));
        // Later entries win: what is declared replaces what is known.
        let bases: HashMap<String, String> = known.chain(declared).collect();
        let mut providers = HashMap::new();
        // Without a gateway nothing reaches a provider.
        for (slug, base) in bases.into_iter().filter(|_| !by_account.is_empty()) {
            match self.provider(&slug, &base) {
                Ok(provider) => {
                    providers.insert(slug, provider);
                }
                Err(message) => self.diagnostics.push(Diagnostic::error(Code::ConfBadValue, message)),
            }
        }
        Gateways { by_account, providers }
    }

    fn provider(&mut self, slug: &str, base_url: &str) -> Result<Provider, String> {
        let key =
            OriginKey { zone: format!("provider {slug}"), url: base_url.to_owned(), http2: false, ca: None };
        let origin = self.origin(key)?;
        let (authority, base_path) = (origin.url.authority(), origin.url.path.clone());
        let pool = Arc::new(Pool::new(vec![origin], Balance::RoundRobin, None));
        Ok(Provider { slug: slug.to_owned(), pool, authority, base_path })
    }
}
