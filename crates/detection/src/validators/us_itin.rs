//! Individual taxpayer identification numbers of the United States: 9, two digits, a group of those assigned.

use super::Definition;
use crate::digits::{digits, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "us_itin",
    summary: "Nine digits that begin with 9 whose fourth and fifth are assigned.",
    validate,
    valid: &["923-95-7007", "900-70-0000"],
    invalid: &["123-95-7007", "923-93-7007", "923-45-7007"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let group = matches!(pair(&digits, 3), 50..=65 | 70..=88 | 90..=92 | 94..=99);
    digits.len() == 9 && digits.first() == Some(&9) && group
}
