//! The compiled rules and their run over one request.

mod act;
mod audit;
mod automaton;
mod collections;
mod decoded;
mod evaluate;
mod expansion;
mod facts;
mod fold;
pub mod literals;
mod moment;
mod names;
#[cfg(test)]
mod oracle;
mod plan;
mod prefilter;
mod program;
mod report;
mod request_body;
pub mod required;
mod response;
mod spare;
mod summary;
mod text;
mod transaction;
mod turn;
mod values;
mod watch;

pub use collections::Collections;
pub use expansion::{Expansion, TxNames};
pub use facts::{BodyLimits, RequestHead, ResponseHead};
pub use names::NameBit;
pub use plan::{ActionOverride, Plan, PlanSettings};
pub use prefilter::Prefilter;
pub use program::{
    Cell, ChosenRules, CollectionAction, Control, Gate, Group, Link, Program, Reads, Root, SetVariable, Step,
    Target, View,
};
pub use report::{MAX_VALUES, Match, MatchedValue};
pub use text::Text;
pub use transaction::{Interruption, Transaction};
pub use watch::Watch;

pub(in crate::waf) use audit::Audit;
pub(in crate::waf) use program::{Meta, Selector};
