//! The resources of the API, one file each: decode, call, encode.

pub(super) mod ai_logs;
pub(super) mod rulesets;
