//! `[[gateways.dlp_policies]]` resolved.

use super::Resolving;
use crate::conf::gateway_file::DlpPolicyFile;
use model::dlp::{DlpPolicy, DlpSettings, MAX_POLICIES, MAX_PROFILES, is_policy_id};
use model::gateway::CallStage;

impl Resolving<'_> {
    pub(super) fn dlp(&mut self, files: Vec<DlpPolicyFile>) -> DlpSettings {
        let mut policies: Vec<DlpPolicy> = Vec::new();
        for (nth, file) in files.into_iter().enumerate() {
            if nth == MAX_POLICIES {
                self.bad(&file.id.place, format!("a gateway has at most {MAX_POLICIES} `dlp_policies`"));
            }
            if !is_policy_id(&file.id.value) || policies.iter().any(|known| known.id == file.id.value) {
                let message = "`gateways.dlp_policies.id` takes 1 to 64 letters, digits, `-` or `_` that no other policy has";
                self.bad(&file.id.place, message);
            }
            if !(1..=MAX_PROFILES).contains(&file.profiles.value.len()) {
                let message = format!(
                    "`gateways.dlp_policies.profiles` takes 1 to {MAX_PROFILES} categories or ids of rules for sensitive data"
                );
                self.bad(&file.profiles.place, message);
            }
            let checks = match file.checks {
                Some(checks) if checks.value.is_empty() => {
                    let message =
                        "`gateways.dlp_policies.check` is empty: expected `request`, `response` or both";
                    self.bad(&checks.place, message);
                    Vec::new()
                }
                Some(checks) => checks.value,
                None => vec![CallStage::Request, CallStage::Response],
            };
            let (action, profiles) = (file.action, file.profiles.value);
            policies.push(DlpPolicy { id: file.id.value, is_enabled: true, action, checks, profiles });
        }
        DlpSettings { is_enabled: !policies.is_empty(), policies }
    }
}
