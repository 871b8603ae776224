//! Tax registry codes of Mexico (RFC) of persons: name, date of birth, a homonym key. Its check character is wrong in many codes in use, so it is not asked for.

use super::Definition;
use crate::digits::{digits, is_date, pair};

pub(super) const DEFINITION: Definition = Definition {
    name: "mx_rfc",
    summary: "Thirteen characters with a day that was.",
    validate,
    valid: &["GODE561231GR8", "VORP431213BG3"],
    invalid: &["GODE561331GR8", "LADH560584VQ4", "GODE561231GR"],
};

fn validate(value: &[u8]) -> bool {
    let date = digits(value.get(4..10).unwrap_or(&[]));
    value.len() == 13 && date.len() == 6 && is_date(pair(&date, 0), pair(&date, 2), pair(&date, 4))
}
