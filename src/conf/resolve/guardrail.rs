//! `[gateways.guardrail]` resolved.

use super::Resolving;
use crate::conf::gateway_file::GuardrailFile;
use model::Secret;
use model::gateway::Guardrail;
use model::origin_url::place_and_target;

impl Resolving<'_> {
    pub(super) fn guardrail(&mut self, file: GuardrailFile) -> Guardrail {
        let GuardrailFile { url, authorization, timeout, on_failure } = file;
        if let Err(message) = place_and_target(&url.value) {
            self.bad(&url.place, format!("`gateways.guardrail.url`: {message}"));
        }
        if let Some(authorization) = &authorization
            && http::HeaderValue::from_str(&authorization.value).is_err()
        {
            let message = "`gateways.guardrail.authorization` takes what a field may have as its value";
            self.bad(&authorization.place, message);
        }
        let authorization = authorization.map(|located| Secret::new(located.value));
        Guardrail { url: url.value, authorization, timeout, on_failure }
    }
}
