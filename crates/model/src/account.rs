//! Accounts: what zones, gateways and tokens belong to.

use serde::{Deserialize, Serialize};

use crate::dns_settings::AccountDnsSettings;
use crate::zone_transfer::TransferPartners;
use crate::{AccountId, DeprecationSettings};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub id: AccountId,
    pub name: String,
    /// RFC 3339.
    pub created_on: String,
    /// DNS settings; `None` for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<Box<AccountDnsSettings>>,
    /// Name servers of others; `None` if it knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Box<TransferPartners>>,
    /// How its clients have what ends; `None` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecations: Option<Box<DeprecationSettings>>,
}

impl Account {
    /// The account of everything in files that names none.
    pub const DEFAULT: &str = "default";
}
