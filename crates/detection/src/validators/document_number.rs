//! Numbers of documents without a check digit: letters and digits, enough of them digits.

use super::Definition;
use crate::digits::compact;

pub(super) const DEFINITION: Definition = Definition {
    name: "document_number",
    summary: "Six characters and more, a digit among them, not all the same.",
    validate,
    valid: &["KB712218", "54237005", "F6Y74MKCJ"],
    invalid: &["PENDING", "KB7", "11111111"],
};

fn validate(value: &[u8]) -> bool {
    let value = compact(value);
    let count = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    value.len() >= 6 && count >= 1 && value.iter().any(|byte| Some(byte) != value.first())
}
