//! Sensitive data in a call, as its row has it.

use serde::{Deserialize, Serialize};

use crate::detection::plan::Found;

/// What a rule found in one direction of a call. The value itself is nowhere in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `REQUEST` or `RESPONSE`.
    pub check: String,
    pub rule: String,
    pub count: usize,
    /// Where the first match begins, in bytes.
    pub offset: usize,
    /// The first match, masked.
    pub sample: String,
}

impl Finding {
    pub fn of(check: &str, found: &Found<'_>) -> Self {
        Self {
            check: check.to_owned(),
            rule: found.rule.id.clone(),
            count: found.count,
            offset: found.offset,
            sample: found.sample.clone(),
        }
    }
}
