//! Sensitive data in texts: rules, and a scanner that finds what they describe. A scan returns its findings.

mod base58;
pub mod charset;
mod confidence;
mod digits;
mod entropy;
pub mod load;
mod location;
pub mod mac;
pub mod payload;
pub mod plan;
mod redact;
pub mod rule;
pub mod scanner;
mod surroundings;
pub mod validators;

pub use confidence::Confidence;
pub use plan::ScanPlan;
pub use rule::{Rule, RuleFile};
pub use scanner::{Detection, Detector};
