//! `[gateways.guardrail]` resolved.

use super::Resolving;
use crate::conf::gateway_file::GuardrailFile;
use model::gateway::Guardrail;
use model::origin_url::place_and_target;

impl Resolving<'_> {
    pub(super) fn guardrail(&mut self, file: GuardrailFile) -> Guardrail {
        let GuardrailFile { url, authorization, timeout, on_failure } = file;
        if let Err(message) = place_and_target(&url.value) {
            self.bad(&url.place, format!("`gateways.guardrail.url`: {message}"));
        }
        let authorization = self.authorization(authorization, "gateways.guardrail");
        Guardrail { url: url.value, authorization, timeout, on_failure }
    }
}
