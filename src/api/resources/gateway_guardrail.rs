//! The guardrail of a gateway: as bodies write it, as answers show it, and as it is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use gateway::vault::MasterKey;
use model::gateway::{CallStage, GatewaySettings, Guardrail, GuardrailFailure};
use model::origin_url::place_and_target;
use model::{AccountId, ContentCategory, ContentPolicy, DlpAction, GatewayId, Secret};
use serde::{Deserialize as _, Serialize};

use crate::ai::guardrail_secret;
use crate::api::error::{self, ApiError};
use crate::api::input::Fields;

/// Longest wait for an answer, in milliseconds.
const MAX_TIMEOUT_MS: i64 = 60_000;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// A guardrail as answers show it: what it is shown is not.
#[derive(Debug, Serialize)]
pub(super) struct ShownGuardrail<'a> {
    url: &'a str,
    has_authorization: bool,
    /// In milliseconds.
    timeout: u128,
    on_failure: GuardrailFailure,
    stages: &'a [CallStage],
}

pub(super) fn shown(guardrail: &Guardrail) -> ShownGuardrail<'_> {
    let Guardrail { url, authorization, sealed_authorization, timeout, on_failure, stages, .. } = guardrail;
    let has_authorization = authorization.is_some() || sealed_authorization.is_some();
    ShownGuardrail { url, has_authorization, timeout: timeout.as_millis(), on_failure: *on_failure, stages }
}

/// Reads the guardrail of a body; one that it does not have stays, `null` takes it away.
pub(super) fn read(fields: &Fields<'_>, settings: &mut GatewaySettings) {
    if !fields.has("guardrail") {
        return;
    }
    let known = settings.guardrail.take();
    settings.guardrail = fields.object("guardrail").and_then(|fields| guardrail(&fields, known.as_ref()));
}

fn guardrail(fields: &Fields<'_>, known: Option<&Guardrail>) -> Option<Guardrail> {
    fields.ignore(&["has_authorization"]);
    let url = fields.required_text("url").filter(|url| {
        let checked =
            place_and_target(url).map_err(|problem| fields.refuse(error::BAD_FIELD, "url", problem));
        checked.is_ok()
    });
    let authorization = fields.text("authorization").filter(|value| {
        let is_sound =
            (1..=4096).contains(&value.len()) && value.bytes().all(|byte| (b' '..0x7f).contains(&byte));
        if !is_sound {
            let message = "expected 1 to 4096 letters, digits, signs and spaces: the field `Authorization`";
            fields.refuse(error::BAD_FIELD, "authorization", message);
        }
        is_sound
    });
    let timeout = fields.within("timeout", 1..=MAX_TIMEOUT_MS);
    let stages: Vec<CallStage> = match fields.texts("stages") {
        None => vec![CallStage::Request],
        Some(words) => words.iter().filter_map(|word| stage(fields, word)).collect(),
    };
    if stages.is_empty() {
        fields.refuse(error::BAD_FIELD, "stages", "expected `request`, `response` or both");
    }
    let mut made = Guardrail {
        url: url?.to_owned(),
        authorization: authorization.map(Secret::new),
        sealed_authorization: None,
        timeout: timeout.map_or(DEFAULT_TIMEOUT, |ms| Duration::from_millis(ms.unsigned_abs())),
        on_failure: fields.word("on_failure", error::BAD_FIELD).unwrap_or_default(),
        stages,
        may_be_private: false,
    };
    // A secret that is not named again stays at its host, because who points it at another must not learn it.
    let same_host = |known: &&Guardrail| {
        guardrail_secret::authority(known).ok() == guardrail_secret::authority(&made).ok()
    };
    if !fields.has("authorization")
        && let Some(known) = known.filter(same_host)
    {
        made.sealed_authorization.clone_from(&known.sealed_authorization);
    }
    Some(made)
}

/// Reads what comes of kinds of content; what a body does not have stays, `null` takes it away.
pub(super) fn read_content(fields: &Fields<'_>, settings: &mut GatewaySettings) {
    if !fields.has("guardrails") {
        return;
    }
    settings.content_policy = ContentPolicy::default();
    let Some(found) = fields.object("guardrails") else { return };
    settings.content_policy.prompt = categories(&found, "prompt");
    settings.content_policy.response = categories(&found, "response");
}

/// Refuses kinds of content that nobody would find.
pub(super) fn check_content(fields: &Fields<'_>, settings: &GatewaySettings) {
    if settings.guardrail.is_none() && !settings.content_policy.is_empty() {
        let message = "kinds of content are found by a service of yours: name it in `guardrail`";
        fields.refuse(error::BAD_FIELD, "guardrails", message);
    }
}

fn categories(fields: &Fields<'_>, name: &'static str) -> BTreeMap<ContentCategory, DlpAction> {
    let Some(value) = fields.value(name) else { return BTreeMap::new() };
    BTreeMap::deserialize(value).unwrap_or_else(|mistake| {
        fields.refuse(error::BAD_FIELD, name, format!("{mistake}"));
        BTreeMap::new()
    })
}

fn stage(fields: &Fields<'_>, word: &str) -> Option<CallStage> {
    match word {
        "request" => Some(CallStage::Request),
        "response" => Some(CallStage::Response),
        other => {
            let message = format!("expected `request` or `response`, found `{other}`");
            fields.refuse(error::BAD_FIELD, "stages", message);
            None
        }
    }
}

/// The settings as they are kept.
///
/// # Errors
/// If there is something to seal, and nothing to seal it with.
pub(super) fn sealed(
    mut settings: GatewaySettings,
    account: &AccountId,
    gateway: &GatewayId,
    master: Option<&MasterKey>,
) -> Result<GatewaySettings, ApiError> {
    let Some(guardrail) = settings.guardrail.take_if(|guardrail| guardrail.authorization.is_some()) else {
        return Ok(settings);
    };
    let master = master.ok_or_else(|| ApiError::no_secrets_key("/guardrail/authorization"))?;
    let kept = guardrail_secret::kept(guardrail, account, gateway, master);
    settings.guardrail = Some(kept.map_err(|message| ApiError::new(error::UNAVAILABLE, message))?);
    Ok(settings)
}
