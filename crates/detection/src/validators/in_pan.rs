//! Permanent account numbers of India: five letters, the fourth the kind of holder, four digits, a letter.

use super::Definition;

pub(super) const DEFINITION: Definition = Definition {
    name: "in_pan",
    summary: "Ten characters with a known kind of holder.",
    validate,
    valid: &["ACUPA7085R", "EZUAT8534O"],
    invalid: &["ACUXA7085R", "ACUPA0000R"],
};

fn validate(value: &[u8]) -> bool {
    let holder = value.get(3).is_some_and(|kind| b"ABCEFGHJKLPT".contains(kind));
    holder && value.get(5..9).is_some_and(|number| number != b"0000")
}
