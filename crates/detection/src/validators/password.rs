//! Passwords beside the word: neither a placeholder, nor a piece of a program.

use super::Definition;
use crate::entropy::is_word_for_secret;

pub(super) const DEFINITION: Definition = Definition {
    name: "password",
    summary: "A value with a digit or a sign in it that is no placeholder, no variable and no call.",
    validate,
    valid: &["aJfizS%aft4IWs", "hunter22!", "T_q4XsJIPio7RlTOQ"],
    invalid: &[
        "password",
        "required",
        "${DB_PASSWORD}",
        "getPassword(user)",
        "this.form.password",
        "********",
        "new_password",
        "e.target.value",
        "minLength:12,",
        "*const",
    ],
};

fn validate(value: &[u8]) -> bool {
    let value = value.strip_suffix(b";").or_else(|| value.strip_suffix(b",")).unwrap_or(value);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let signs = value.iter().filter(|byte| b"!@#$%^&*+?~".contains(byte)).count();
    // What a program reads its value from.
    let is_code = value.iter().any(|byte| b"(){}[],;=:".contains(byte))
        || value.starts_with(b"*")
        || value.starts_with(b"&")
        || value.starts_with(b"$") && digits == 0;
    (6..=64).contains(&value.len()) && (digits > 0 || signs > 0) && !is_code && !is_word_for_secret(value)
}
