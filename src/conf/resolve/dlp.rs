//! `[[gateways.dlp_policies]]` resolved.

use super::Resolving;
use crate::conf::gateway_file::DlpPolicyFile;
use model::dlp::{DlpPolicy, DlpSettings, MAX_POLICIES};
use model::gateway::CallStage;

impl Resolving<'_> {
    pub(super) fn dlp(&mut self, files: Vec<DlpPolicyFile>) -> DlpSettings {
        let mut policies: Vec<DlpPolicy> = Vec::new();
        for (nth, file) in files.into_iter().enumerate() {
            if nth == MAX_POLICIES {
                self.bad(&file.id.place, format!("a gateway has at most {MAX_POLICIES} `dlp_policies`"));
            }
            if let Some(fault) = DlpPolicy::id_fault(&file.id.value, &policies) {
                self.bad(&file.id.place, format!("`gateways.dlp_policies.id` {fault}"));
            }
            if let Some(fault) = DlpPolicy::profiles_fault(&file.profiles.value) {
                self.bad(&file.profiles.place, format!("`gateways.dlp_policies.profiles` {fault}"));
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
