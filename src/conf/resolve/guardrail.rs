//! `[gateways.guardrail]` resolved.

use super::Resolving;
use crate::conf::gateway_file::GuardrailFile;
use crate::conf::table::Located;
use model::ContentPolicy;
use model::gateway::{CallStage, Guardrail};
use model::origin_url::place_and_target;

impl Resolving<'_> {
    /// The guardrail of a gateway, and what comes of kinds of content that it finds.
    pub(super) fn guardrail(&mut self, file: GuardrailFile) -> (Guardrail, ContentPolicy) {
        let GuardrailFile { url, authorization, timeout, on_failure, prompt, response, stages } = file;
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
        let by_kind = |found: Option<Located<_>>| found.map(|found| found.value).unwrap_or_default();
        let policy = ContentPolicy { prompt: by_kind(prompt), response: by_kind(response) };
        let guardrail = Guardrail {
            url: url.value,
            authorization,
            sealed_authorization: None,
            timeout,
            on_failure,
            stages,
            may_be_private: true,
        };
        (guardrail, policy)
    }
}
