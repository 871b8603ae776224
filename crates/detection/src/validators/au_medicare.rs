//! Medicare card numbers of Australia: eight digits, a check digit, the issue.

use super::Definition;
use crate::digits::{digits, weighted};

pub(super) const DEFINITION: Definition = Definition {
    name: "au_medicare",
    summary: "Ten digits that begin with 2 to 6 with a valid ninth digit.",
    validate,
    valid: &["2123 45670 1", "5510 16149 2"],
    invalid: &["2123 45671 1", "1123 45670 1"],
};

fn validate(value: &[u8]) -> bool {
    let digits = digits(value);
    let sum = weighted(&digits, &[1, 3, 7, 9, 1, 3, 7, 9]);
    let begins = digits.first().is_some_and(|first| (2..=6).contains(first));
    matches!(digits.len(), 10 | 11) && begins && digits.get(8) == Some(&(sum % 10))
}
