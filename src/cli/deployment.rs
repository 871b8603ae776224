//! Rules as a zone would run them, for commands that judge without a server.

use std::sync::Arc;

use crate::ruleset::execute::Execution;
use crate::ruleset::{EntryPoint, ManagedRuleset};
use crate::waf::Program;

/// What a zone sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deployment {
    pub(super) paranoia_level: u8,
    pub(super) score_threshold: i64,
}

impl Deployment {
    pub(super) fn execution(self, program: &Arc<Program>) -> Execution {
        let managed = ManagedRuleset::owasp(program);
        Execution::short_form(program, &managed, self.paranoia_level, self.score_threshold)
    }

    pub(super) fn entry_point(self, program: &Arc<Program>) -> EntryPoint {
        EntryPoint { executions: vec![self.execution(program)] }
    }
}
