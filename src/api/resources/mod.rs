//! The resources of the API, one file each: decode, call, encode.

pub(super) mod rulesets;
