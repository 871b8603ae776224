//! The compiled rules and their run over one request.

mod evaluate;
mod expansion;
mod facts;
mod plan;
mod prefilter;
mod program;
mod report;
mod text;
mod transaction;

pub use expansion::{Expansion, TxNames};
pub use facts::{BodyLimits, RequestHead};
pub use plan::{ActionOverride, Plan, PlanSettings};
pub use prefilter::{ByteSet, Prefilter};
pub use program::{Control, Link, Program, Root, SetVariable, Target, View};
pub use report::Match;
pub use text::Text;
pub use transaction::{Interruption, Transaction};

pub(in crate::waf) use program::{Meta, Selector};
