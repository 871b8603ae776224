//! The guardrail of a gateway, compiled.

use std::sync::Arc;
use std::time::Duration;

use crate::upstream::Origin;
use model::gateway::{CallStage, GuardrailFailure};
use model::{ContentPolicy, Secret};

/// A service that judges what is asked of providers, and what they answer.
#[derive(Debug)]
pub struct CompiledGuardrail {
    pub origin: Arc<Origin>,
    /// Path and query.
    pub target: String,
    pub authorization: Option<Secret>,
    pub timeout: Duration,
    pub on_failure: GuardrailFailure,
    pub stages: Vec<CallStage>,
    /// What comes of kinds of content that it finds.
    pub content_policy: ContentPolicy,
    /// Whether it may be on this machine or in a private network.
    pub may_be_private: bool,
}

impl CompiledGuardrail {
    pub fn judges(&self, stage: CallStage) -> bool {
        self.stages.contains(&stage) || !self.content_policy.of(stage).is_empty()
    }
}
