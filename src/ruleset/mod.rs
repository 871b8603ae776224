//! Phases, rulesets, overrides and what they decide.
//!
//! A zone has an entry point ruleset for each phase. Its `execute` rules run managed rulesets under
//! overrides. Everything is resolved when resources change: a request sees [`execute::EntryPoint`],
//! a list of plans.

pub mod execute;
pub mod managed;
pub mod overrides;
pub mod score;
pub mod trace;

pub use execute::EntryPoint;
pub use managed::{ManagedRule, ManagedRuleset};
pub use model::Action;
pub use model::Phase;
pub use overrides::Effective;
pub use trace::{Outcome, Verdict};
