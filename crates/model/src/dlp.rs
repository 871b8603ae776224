//! What a gateway does about sensitive data in calls, policy by policy.

use serde::{Deserialize, Serialize};

use super::GatewayId;
use super::gateway::CallStage;

/// Most policies of a gateway, and most profiles of a policy.
pub const MAX_POLICIES: usize = 32;
pub const MAX_PROFILES: usize = 256;

/// Whether a text can be the id of a policy: it stands in a field of answers.
pub fn is_policy_id(text: &str) -> bool {
    GatewayId::is_path_word(text)
}

/// The policies of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DlpSettings {
    /// Whether any of them is in force.
    pub is_enabled: bool,
    pub policies: Vec<DlpPolicy>,
}

/// One policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DlpPolicy {
    /// Unique among those of its gateway; empty if it is the only one and nobody named it.
    pub id: String,
    pub is_enabled: bool,
    pub action: DlpAction,
    /// What it looks at.
    pub checks: Vec<CallStage>,
    /// What it looks for: categories of sensitive data rules, or single rules.
    pub profiles: Vec<String>,
}

/// What comes of a call in which something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DlpAction {
    /// It goes on; its row, an event and its answer say so.
    Flag,
    /// The provider does not get what is asked, or the client what is answered.
    Block,
}

impl DlpSettings {
    /// The policies that calls have to pass.
    pub fn in_force(&self) -> impl Iterator<Item = &DlpPolicy> {
        self.policies.iter().filter(|policy| self.is_enabled && policy.is_enabled)
    }
}
