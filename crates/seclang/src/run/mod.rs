//! The run of rules over one request.
//!
//! A rule: its phase lists it as a turn. If its first link looks at a group of targets, the group's summary (bytes,
//! longest value, literals) is asked first; most rules end there. Else each link in order: for each target, its values
//! (looked up once), their transformations (applied once), the link's prefilter, then the operator. With `multiMatch`
//! the operator is asked after each transformation. If the value did not match before it, the operator may look only at
//! what the transformation changed. A link that matched acts; a rule all of whose links matched reports and may refuse.
//!
//! A request: [`Transaction`] takes its parts one by one and runs the phase that follows each. Its state is what rules
//! look at (`data`), what was found out about values (`cache`), what was decided (`verdict`) and what rules changed
//! about the run (`controls`).

mod act;
mod audit;
mod evaluate;
mod fold;
#[cfg(feature = "oracle")]
pub mod oracle;
mod plan;
mod pool;
mod report;
mod schedule;
mod summary;
mod transaction;
mod values;
mod watch;

pub use plan::{ActionOverride, Plan, PlanSettings};
pub use report::{MAX_VALUES, Match, MatchedValue};
pub use transaction::{Interruption, Transaction};
pub use watch::Watch;
