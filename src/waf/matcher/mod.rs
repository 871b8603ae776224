//! The compiled rules and their run over one request.

mod act;
mod collections;
mod evaluate;
mod expansion;
mod facts;
pub mod literals;
mod moment;
#[cfg(test)]
mod oracle;
mod plan;
mod prefilter;
mod program;
mod report;
mod request_body;
mod response;
mod spare;
mod text;
mod transaction;

pub use collections::Collections;
pub use expansion::{Expansion, TxNames};
pub use facts::{BodyLimits, RequestHead, ResponseHead};
pub use plan::{ActionOverride, Plan, PlanSettings};
pub use prefilter::{ByteSet, Prefilter};
pub use program::{
    Cell, ChosenRules, CollectionAction, Control, Link, Program, Root, SetVariable, Step, Target, View,
};
pub use report::{MAX_VALUES, Match, MatchedValue};
pub use text::Text;
pub use transaction::{Interruption, Transaction};

pub(in crate::waf) use program::{Meta, Selector};
