//! AI gateways, their tokens and the providers behind them.

use serde::{Deserialize, Serialize};

use super::id::{AccountId, GatewayId, TokenId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub account: AccountId,
    pub id: GatewayId,
    /// Whether requests need a token of this gateway.
    pub authentication: bool,
}

/// A gateway token. The token itself is shown once and kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayToken {
    pub id: TokenId,
    pub account: AccountId,
    pub gateway: GatewayId,
    pub name: String,
    /// SHA-256 of the token, as hex.
    pub hash: String,
}

/// A provider: the slug in the path and the base its paths are added to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    pub slug: String,
    /// `https://host[:port][/path]`
    pub base_url: String,
}
