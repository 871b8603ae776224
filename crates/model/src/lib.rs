//! Resources as the API shows them. Shapes only: no behaviour beyond parsing their own words.

pub mod ai_log;
pub mod backoff;
pub mod gateway;
pub mod host_name;
pub mod id;
pub mod limit;
pub mod origin_url;
pub mod payload_key;
pub mod phase;
pub mod ruleset;
pub mod secret;
pub mod zone;

use std::collections::BTreeMap;

pub use ai_log::{AiLog, Finding};
pub use backoff::Backoff;
pub use gateway::{Gateway, GatewayToken};
pub use host_name::HostName;
pub use id::{AccountId, GatewayId, RuleId, RulesetId, TokenId, ZoneId};
pub use limit::{Counted, Dimension, Limit, Measure, Technique};
pub use payload_key::PayloadKey;
pub use phase::Phase;
pub use ruleset::{Overrides, Rule, Ruleset};
pub use secret::Secret;
pub use zone::{Balance, HealthCheck, OriginProtocol, Zone};

/// Everything that is declared, whatever declared it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    pub zones: BTreeMap<ZoneId, Zone>,
    pub gateways: BTreeMap<(AccountId, GatewayId), Gateway>,
    pub tokens: BTreeMap<TokenId, GatewayToken>,
    pub providers: BTreeMap<String, gateway::Provider>,
    /// By account, gateway, provider and alias.
    pub keys: BTreeMap<(AccountId, GatewayId, String, String), gateway::ProviderKey>,
}

impl Resources {
    /// These resources with `other`'s added; what both declare is taken from `self`.
    #[must_use]
    pub fn over(mut self, other: Self) -> Self {
        other.zones.into_iter().for_each(|(id, zone)| {
            self.zones.entry(id).or_insert(zone);
        });
        other.gateways.into_iter().for_each(|(id, gateway)| {
            self.gateways.entry(id).or_insert(gateway);
        });
        other.tokens.into_iter().for_each(|(id, token)| {
            self.tokens.entry(id).or_insert(token);
        });
        other.keys.into_iter().for_each(|(id, key)| {
            self.keys.entry(id).or_insert(key);
        });
        other.providers.into_iter().for_each(|(slug, provider)| {
            self.providers.entry(slug).or_insert(provider);
        });
        self
    }
}
