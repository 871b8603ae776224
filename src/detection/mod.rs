//! Sensitive data in responses: rules, a scanner, and the tee that feeds it beside the response.
//!
//! The scanner is pure. [`tee`] holds the queue, the threads and what they remember of bodies; it never
//! delays a byte.

pub mod anchors;
mod base58;
mod charset;
pub mod detector;
mod digits;
mod eights;
mod entropy;
mod escapes;
mod keyword;
mod location;
pub mod mac;
mod member;
pub mod payload;
pub mod plan;
mod recent;
mod redact;
pub mod rule;
pub mod scan;
mod seen;
mod shape;
mod surroundings;
mod table;
mod tally;
pub mod tee;
mod tokens;
pub mod validators;

pub use detector::Detector;
pub use plan::Plan;
pub use rule::{Confidence, Rule, RuleFile};
pub use scan::Detection;
