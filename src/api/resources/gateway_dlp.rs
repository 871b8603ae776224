//! The policies of a gateway for sensitive data: as bodies write them, and as answers show them.
//!
//! They have two forms: a list of policies, and one policy without an id that checks both directions.

use model::dlp::{DlpAction, DlpPolicy, DlpSettings, MAX_POLICIES};
use model::gateway::{CallStage, GatewaySettings};
use serde::{Deserialize, Serialize};

use crate::api::error;
use crate::api::input::Fields;
use crate::ruleset::ManagedRuleset;
use crate::snapshot::Snapshot;

#[derive(Debug, Serialize)]
pub(super) struct ShownDlp<'a> {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<DlpAction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profiles: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policies: Option<Vec<ShownDlpPolicy<'a>>>,
}

#[derive(Debug, Serialize)]
struct ShownDlpPolicy<'a> {
    id: &'a str,
    enabled: bool,
    action: DlpAction,
    check: Vec<DlpCheck>,
    profiles: &'a [String],
}

/// A direction of calls, as policies write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum DlpCheck {
    Request,
    Response,
}

impl From<DlpCheck> for CallStage {
    fn from(check: DlpCheck) -> Self {
        match check {
            DlpCheck::Request => Self::Request,
            DlpCheck::Response => Self::Response,
        }
    }
}

impl From<CallStage> for DlpCheck {
    fn from(stage: CallStage) -> Self {
        match stage {
            CallStage::Request => Self::Request,
            CallStage::Response => Self::Response,
        }
    }
}

/// The policies of a gateway; nothing if nobody wrote any.
pub(super) fn shown(settings: &GatewaySettings) -> Option<ShownDlp<'_>> {
    let DlpSettings { is_enabled, policies } = &settings.dlp;
    let form = ShownDlp { enabled: *is_enabled, action: None, profiles: None, policies: None };
    match policies.as_slice() {
        [] if !is_enabled => None,
        [only] if only.id.is_empty() => {
            Some(ShownDlp { action: Some(only.action), profiles: Some(&only.profiles), ..form })
        }
        policies => {
            let shown = policies.iter().map(|policy| ShownDlpPolicy {
                id: &policy.id,
                enabled: policy.is_enabled,
                action: policy.action,
                check: policy.checks.iter().copied().map(DlpCheck::from).collect(),
                profiles: &policy.profiles,
            });
            Some(ShownDlp { policies: Some(shown.collect()), ..form })
        }
    }
}

/// Reads the policies of a body; those that it does not have stay, `null` takes them away. Their profiles are categories or
/// rules of the snapshot.
pub(super) fn read(fields: &Fields<'_>, settings: &mut GatewaySettings, snapshot: &Snapshot) {
    if !fields.has("dlp") {
        return;
    }
    settings.dlp = DlpSettings::default();
    let Some(fields) = fields.object("dlp") else { return };
    let dlp = &mut settings.dlp;
    dlp.is_enabled = fields.bool("enabled").unwrap_or(true);
    let is_single = fields.has("action") | fields.has("profiles");
    let Some(written) = fields.objects("policies") else {
        if is_single {
            let checks = vec![CallStage::Request, CallStage::Response];
            dlp.policies.extend(policy(&fields, String::new(), true, checks, snapshot));
        }
        return;
    };
    if is_single {
        fields.refuse(error::BAD_FIELD, "policies", "expected either `policies`, or `action` and `profiles`");
    }
    if written.len() > MAX_POLICIES {
        fields.refuse(error::BAD_FIELD, "policies", format!("a gateway has at most {MAX_POLICIES} policies"));
        return;
    }
    for fields in &written {
        let id = fields.required_text("id").unwrap_or("");
        if let Some(fault) = DlpPolicy::id_fault(id, &dlp.policies).filter(|_| fields.value("id").is_some()) {
            fields.refuse(error::BAD_FIELD, "id", format!("`id` {fault}"));
        }
        let is_enabled = fields.bool("enabled").unwrap_or(true);
        dlp.policies.extend(policy(fields, id.to_owned(), is_enabled, checks(fields), snapshot));
    }
}

fn policy(
    fields: &Fields<'_>,
    id: String,
    is_enabled: bool,
    checks: Vec<CallStage>,
    snapshot: &Snapshot,
) -> Option<DlpPolicy> {
    let action = fields.word("action", error::BAD_FIELD);
    if fields.value("action").is_none() {
        fields.refuse(error::BAD_FIELD, "action", "expected `BLOCK` or `FLAG`");
    }
    let profiles = fields.texts("profiles").unwrap_or_default();
    if let Some(fault) = DlpPolicy::profiles_fault(&profiles) {
        fields.refuse(error::BAD_FIELD, "profiles", format!("`profiles` {fault}"));
    }
    let managed = snapshot.managed.iter().find(|managed| managed.id == ManagedRuleset::sensitive_data_id());
    for (nth, word) in profiles.iter().enumerate() {
        if managed.is_some_and(|managed| !managed.has_rules_of(word)) {
            let message = format!("no rule for sensitive data has the category or the id `{word:.100}`");
            fields.refuse(error::BAD_FIELD, &format!("profiles/{nth}"), message);
        }
    }
    Some(DlpPolicy { id, is_enabled, action: action?, checks, profiles })
}

fn checks(fields: &Fields<'_>) -> Vec<CallStage> {
    let mut checks = Vec::new();
    for (nth, value) in fields.list("check").unwrap_or_default().iter().enumerate() {
        match DlpCheck::deserialize(value) {
            Ok(check) if checks.contains(&CallStage::from(check)) => {}
            Ok(check) => checks.push(check.into()),
            Err(_) => {
                let message = "expected `REQUEST` or `RESPONSE`";
                fields.refuse(error::BAD_FIELD, &format!("check/{nth}"), message);
            }
        }
    }
    if checks.is_empty() {
        fields.refuse(error::BAD_FIELD, "check", "expected `REQUEST`, `RESPONSE` or both");
    }
    checks
}
