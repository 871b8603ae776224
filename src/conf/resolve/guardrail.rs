//! `[gateways.guardrail]` resolved.

use super::Resolving;
use crate::conf::gateway_file::GuardrailFile;
use model::gateway::{CallStage, Guardrail};
use model::origin_url::place_and_target;

impl Resolving<'_> {
    pub(super) fn guardrail(&mut self, file: GuardrailFile) -> Guardrail {
        let GuardrailFile { url, authorization, timeout, on_failure, stages } = file;
        if let Err(message) = place_and_target(&url.value) {
            self.bad(&url.place, format!("`gateways.guardrail.url`: {message}"));
        }
        let authorization = self.authorization(authorization, "gateways.guardrail");
        let stages = match stages {
            Some(stages) if stages.value.is_empty() => {
                let message = "`gateways.guardrail.stages` is empty: expected `request`, `response` or both";
                self.bad(&stages.place, message);
                Vec::new()
            }
            Some(stages) => stages.value,
            None => vec![CallStage::Request],
        };
        Guardrail {
            url: url.value,
            authorization,
            sealed_authorization: None,
            timeout,
            on_failure,
            stages,
            may_be_private: true,
        }
    }
}
