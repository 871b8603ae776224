//! The calendar of what ends, without a clock and without requests.
//!
//! A [`DeprecationRow`] says what ends, when, and what takes its place. A [`DeprecationSchedule`] is all rows: those that
//! ship with the program ([`SHIPPED`]) and those of an operator's file, found by the operation that they are about. How a
//! row is served in a call, its [`model::DeprecationMode`], follows from [`Precedence`].

mod file;
mod row;
mod schedule;

pub use row::{AtEnd, DeprecationKind, DeprecationRow};
pub use schedule::{DeprecationSchedule, EXISTS, OperationName, Precedence, SHIPPED, unknown_ids};
