//! Alerts: what is watched, and who hears of it.

use serde::{Deserialize, Serialize};

use crate::AccountId;

/// A watch over the security events of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertPolicy {
    pub id: String,
    pub account: AccountId,
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub enabled: bool,
    pub alert_type: AlertType,
    /// Ids of webhooks.
    pub webhooks: Vec<String>,
    /// Addresses that mails go to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emails: Vec<String>,
    /// Names of zones; all of the account if empty.
    #[serde(default)]
    pub zones: Vec<String>,
    /// Sources of events, such as `dlp`; all if empty.
    #[serde(default)]
    pub sources: Vec<String>,
    /// RFC 3339.
    pub created: String,
    pub modified: String,
}

/// What an alert watches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertType {
    /// A spike of security events.
    SecurityEventsAlert,
    /// The same, of some zones or services.
    AdvancedSecurityEventsAlert,
    /// Something that ends soon is still used.
    DeprecationAlert,
}

/// A server that hears of alerts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertWebhook {
    pub id: String,
    pub account: AccountId,
    pub name: String,
    pub url: String,
    /// Sent with each message; never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Whether the secret is sealed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sealed: bool,
    /// RFC 3339.
    pub created_at: String,
}
