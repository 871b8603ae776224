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
#[cfg(feature = "oracle")]
pub mod oracle;
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

pub use body::head::{RequestHead, ResponseHead};
pub use collections::Collections;
pub use expansion::{Expansion, TxNames};
pub use facts::BodyLimits;
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

pub(crate) use audit::Audit;
pub(crate) use program::{Meta, Selector};
