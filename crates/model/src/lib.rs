//! Resources as the API shows them. Shapes only: no behaviour beyond parsing their own words.

pub mod account;
pub mod action;
pub mod ai_log;
pub mod api_token;
pub mod backoff;
pub mod declared;
pub mod gateway;
pub mod host_name;
pub mod id;
pub mod limit;
mod milliseconds;
pub mod origin_url;
pub mod payload_key;
pub mod phase;
pub mod resources;
pub mod ruleset;
pub mod secret;
mod word;
pub mod zone;

pub use account::Account;
pub use action::Action;
pub use ai_log::{AiLog, Finding};
pub use api_token::ApiToken;
pub use backoff::Backoff;
pub use declared::{Declared, Provenance};
pub use gateway::{Gateway, GatewayToken};
pub use host_name::HostName;
pub use id::{AccountId, GatewayId, RuleId, RulesetId, TokenId, ZoneId};
pub use limit::{Counted, Dimension, Limit, Measure, Technique};
pub use payload_key::PayloadKey;
pub use phase::Phase;
pub use resources::{KeyId, Resources};
pub use ruleset::{Overrides, Rule, Ruleset, RulesetKind};
pub use secret::Secret;
pub use zone::{Balance, HealthCheck, OriginProtocol, SensitiveDataSettings, WafSettings, Zone};
