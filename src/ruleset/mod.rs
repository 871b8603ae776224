//! Phases, rulesets, overrides and what they decide.
//!
//! A zone has at most one entry point for each [`Phase`]: its rules, in order. A compiled rule is an
//! expression and an action. Everything is resolved when resources change, so that a request walks lists:
//!
//! ```text
//! request ─► EntryPoints::of(phase) ─► rules whose expression matches ─► action of each ─► Decisions, Run ─► Verdict
//! ```
//!
//! An action is one file in [`actions`]. Another phase is another variant of [`Phase`], and a place in the
//! proxy that walks it.

pub mod actions;
pub mod custom;
pub mod decisions;
pub mod entry_point;
pub mod managed;
pub mod overrides;
pub mod plans;
pub mod rate_limiter;
pub mod replacing;
pub mod rule_list;
pub mod run;
pub mod score;
pub mod trace;
pub mod verdict;

pub use actions::CompiledAction;
pub use actions::OriginChoice;
pub use actions::{Edits, FieldEdit, Redirection};
pub use custom::{CustomRuleset, CustomRulesets};
pub use decisions::{ActedRule, Decisions, Ending, Passed, Refusing, ToldRule};
pub use entry_point::{CompiledRule, EntryPoint, EntryPoints, RuleSource};
pub use managed::{ManagedRule, ManagedRuleset};
pub use model::Action;
pub use model::Phase;
pub use overrides::Effective;
pub use plans::{Plans, ScoredRuleset};
pub use rate_limiter::{PendingCount, RateLimiter};
pub use rule_list::RuleList;
pub use run::Run;
pub use trace::{Trace, TraceEnd, TracedRequest, TracedRule};
pub use verdict::{Outcome, RuleReference, Verdict};
