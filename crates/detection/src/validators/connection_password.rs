//! Passwords in connection strings that are no placeholder.

use super::Definition;
use crate::entropy::is_word_for_secret;

pub(super) const DEFINITION: Definition = Definition {
    name: "connection_password",
    summary: "A password that is neither a word for one nor a variable.",
    validate,
    valid: &["CjjspTN6gv7zU", "Password=goodbflf"],
    invalid: &["password", "Password=${DB_PASSWORD}", "********"],
};

fn validate(value: &[u8]) -> bool {
    let password = value.rsplit(|byte| *byte == b'=').next().unwrap_or(&[]).trim_ascii();
    let password = password.strip_prefix(b"\\").unwrap_or(password);
    let bare: Vec<u8> = password.iter().copied().filter(|byte| !b"\"'\\".contains(byte)).collect();
    bare.len() >= 4 && !is_word_for_secret(&bare)
}
