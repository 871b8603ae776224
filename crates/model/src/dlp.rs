//! What a gateway does about sensitive data in calls, policy by policy.

use serde::{Deserialize, Serialize};

use super::GatewayId;
use super::gateway::CallStage;

/// Most policies of a gateway, and most profiles of a policy.
pub const MAX_POLICIES: usize = 32;
const MAX_PROFILES: usize = 256;

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

impl DlpPolicy {
    /// What is wrong with the id of a policy that is to stand beside others: it stands in a field of answers.
    pub fn id_fault(id: &str, others: &[Self]) -> Option<&'static str> {
        let is_sound = GatewayId::is_path_word(id) && others.iter().all(|other| other.id != id);
        (!is_sound).then_some("takes 1 to 64 letters, digits, `-` or `_` that no other policy has")
    }

    /// What is wrong with the number of a policy's profiles.
    pub fn profiles_fault(profiles: &[String]) -> Option<String> {
        let is_sound = (1..=MAX_PROFILES).contains(&profiles.len());
        let expected = || {
            format!(
                "takes 1 to {MAX_PROFILES} categories or ids of rules for sensitive data, such as `credential`"
            )
        };
        (!is_sound).then(expected)
    }
}
