//! Sensitive data in texts: rules, and a scanner that finds what they describe. A scan returns its findings.

pub mod anchors;
mod base58;
pub mod charset;
pub mod detector;
mod digits;
mod eights;
mod entropy;
mod escapes;
mod keyword;
mod location;
mod lookalike;
pub mod mac;
mod member;
pub mod payload;
pub mod plan;
mod redact;
pub mod rule;
pub mod scan;
mod shape;
mod surroundings;
mod table;
mod tally;
mod tokens;
pub mod validators;

pub use detector::Detector;
pub use plan::ScanPlan;
pub use rule::{Confidence, Rule, RuleFile};
pub use scan::Detection;
