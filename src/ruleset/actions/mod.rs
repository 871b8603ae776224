//! The actions of compiled rules, one a file.

pub mod block;
pub mod challenge;
pub mod compress_response;
pub mod execute;
pub mod log;
pub mod redirect;
pub mod rewrite;
pub mod route;
pub mod score;
pub mod serve_error;
pub mod set_cache_settings;
pub mod set_config;
pub mod skip;

pub use execute::Execute;
pub use redirect::{Redirect, Redirection};
pub use rewrite::{Edits, FieldEdit, Rewrite};
pub use route::OriginChoice;
pub use skip::Skip;

use std::sync::Arc;

use super::custom::CustomRulesets;
use super::managed::ManagedRuleset;
use super::plans::Plans;
use ::challenge::ChallengeLevel;
use body::compress::ContentEncoding;
use detection::{Detector, ScanPlan};
use diagnostic::Diagnostics;
use expression::NamedSets;
use model::cache_settings::CacheParameters;
use model::ruleset::{BlockResponse, ErrorPage, Rule};
use model::{Action, Phase, SecurityLevel, SensitiveDataSettings, TrafficSettings};
use seclang::Program;

/// What a rule does with a request or response that it is for.
#[derive(Clone, Debug)]
pub enum CompiledAction {
    /// Refuses the request, with an answer of its own if there is one.
    Block(Option<Arc<BlockResponse>>),
    /// Has the client solve a puzzle, if it has not.
    Challenge(ChallengeLevel),
    /// Compresses the response by the first of these codings that the client takes.
    CompressResponse(Arc<[ContentEncoding]>),
    Log,
    Execute(Execute),
    Redirect(Arc<Redirect>),
    Rewrite(Arc<Rewrite>),
    Route(Arc<OriginChoice>),
    /// Adds this to the score of managed rules.
    Score(i64),
    ServeError(Arc<ErrorPage>),
    /// Says whether and how long the response is kept.
    SetCacheSettings(CacheParameters),
    SetConfig(Arc<TrafficSettings>),
    Skip(Arc<Skip>),
}

/// An action that the rules of a zone's entry point can have.
#[derive(Debug)]
pub struct Definition {
    /// Its words: one, or several of the same kind.
    pub actions: &'static [Action],
    /// The phases whose rules can have it.
    pub phases: &'static [Phase],
    /// Makes the action of a rule; `None` if it has errors, which are then reported.
    pub compile: fn(&Rule, Phase, &mut Sources<'_>) -> Option<CompiledAction>,
}

/// All of them.
pub const ALL: &[Definition] = &[
    block::DEFINITION,
    challenge::DEFINITION,
    compress_response::DEFINITION,
    execute::DEFINITION,
    log::DEFINITION,
    redirect::DEFINITION,
    rewrite::DEFINITION,
    route::DEFINITION,
    score::DEFINITION,
    serve_error::DEFINITION,
    set_cache_settings::DEFINITION,
    set_config::DEFINITION,
    skip::DEFINITION,
];

/// What actions are compiled from, besides their rule.
#[derive(Debug)]
pub struct Sources<'a> {
    /// Of the zone whose rule it is.
    pub sensitive_data: &'a SensitiveDataSettings,
    pub managed: [&'a ManagedRuleset; 2],
    /// What expressions can name.
    pub sets: &'a NamedSets,
    /// Other rulesets that the rule can name; `None` if it cannot run any, because it is of such a one.
    pub custom: Option<&'a CustomRulesets>,
    /// The rules of the managed ruleset that scores requests.
    pub program: &'a Arc<Program>,
    /// The rules of the managed ruleset that scans responses.
    pub detector: &'a Arc<Detector>,
    pub plans: &'a mut Plans,
    pub diagnostics: &'a mut Diagnostics,
}

impl CompiledAction {
    /// Whether it does nothing with any request.
    pub fn is_idle(&self) -> bool {
        match self {
            Self::Execute(execute) => execute.is_idle(),
            _ => false,
        }
    }

    /// The same action for a zone with other settings.
    pub fn with_settings(&self, settings: &SensitiveDataSettings) -> Self {
        match self {
            Self::Execute(execute) => Self::Execute(execute.with_settings(settings)),
            _ => self.clone(),
        }
    }

    /// The block lists that rules of a managed ruleset which it runs ask whether they name the client.
    pub fn block_lists(&self) -> Vec<Arc<str>> {
        match self {
            Self::Execute(Execute::Score(scored)) => scored.plan.block_lists(),
            _ => Vec::new(),
        }
    }

    /// The word of the API for it.
    pub fn action(&self) -> Action {
        match self {
            Self::Block(_) => Action::Block,
            Self::Challenge(level) => challenge::action(*level),
            Self::CompressResponse(_) => Action::CompressResponse,
            Self::Log => Action::Log,
            Self::Execute(_) => Action::Execute,
            Self::Redirect(_) => Action::Redirect,
            Self::Rewrite(_) => Action::Rewrite,
            Self::Route(_) => Action::Route,
            Self::Score(_) => Action::Score,
            Self::ServeError(_) => Action::ServeError,
            Self::SetCacheSettings(_) => Action::SetCacheSettings,
            Self::SetConfig(_) => Action::SetConfig,
            Self::Skip(_) => Action::Skip,
        }
    }

    /// Whether it ends requests that it is for.
    pub fn refuses(&self) -> bool {
        matches!(self, Self::Block(_) | Self::Challenge(_))
    }

    /// Whether it changes something of a request or its answer that nobody would find the reason of otherwise.
    pub fn changes(&self) -> bool {
        match self {
            Self::Redirect(_)
            | Self::Rewrite(_)
            | Self::Route(_)
            | Self::ServeError(_)
            | Self::SetConfig(_) => true,
            Self::Block(_)
            | Self::Challenge(_)
            | Self::CompressResponse(_)
            | Self::SetCacheSettings(_)
            | Self::Log
            | Self::Execute(_)
            | Self::Score(_)
            | Self::Skip(_) => false,
        }
    }

    /// Whether it may answer with a challenge.
    pub fn challenges(&self) -> bool {
        match self {
            Self::Challenge(_) => true,
            Self::Execute(Execute::Score(scored)) => scored.challenge.is_some(),
            Self::SetConfig(settings) => settings.security_level == Some(SecurityLevel::UnderAttack),
            _ => false,
        }
    }

    /// What a response is scanned for, if that is the action.
    pub fn scan_plan(&self) -> Option<&ScanPlan> {
        match self {
            Self::Execute(execute) => execute.scan_plan(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_its_definition() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ruleset/actions");
        let files = std::fs::read_dir(folder).unwrap().count() - 1;
        assert_eq!(files, ALL.len());
        for action in Action::ALL {
            let definitions = ALL.iter().filter(|definition| definition.actions.contains(&action));
            assert_eq!(definitions.count(), 1, "{action:?}");
        }
        assert!(ALL.iter().all(|definition| !definition.phases.is_empty()));
    }
}
