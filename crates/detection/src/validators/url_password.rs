//! User information of a URL (RFC 3986 section 3.2.1) whose password is no placeholder.

use super::Definition;
use crate::entropy::is_word_for_secret;

pub(super) const DEFINITION: Definition = Definition {
    name: "url_password",
    summary: "A URL whose password is neither a word for one nor a variable.",
    validate,
    valid: &["mysql://root:vt2zElJi2hAm@db:3306/shop", "redis://:5qtGQDMoqc2C@cache:6379/0"],
    invalid: &[
        "postgres://user:password@localhost/db",
        "mysql://${USER}:${PASS}@db/x",
        "http://user:pass@host/",
        "https://a:b@2x.png",
    ],
};

fn validate(value: &[u8]) -> bool {
    let Some(at) = value.iter().rposition(|byte| *byte == b'@') else { return false };
    let information = value.get(..at).unwrap_or(&[]);
    let password = information.rsplit(|byte| *byte == b':').next().unwrap_or(&[]);
    password.len() >= 3 && !is_word_for_secret(password)
}
