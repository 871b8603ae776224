//! Credentials of the Basic scheme (RFC 7617): Base64 of a name, a colon and a password.

use super::{Definition, base64};

pub(super) const DEFINITION: Definition = Definition {
    name: "basic_credentials",
    summary: "Base64 of text with a colon in it and something behind it.",
    validate,
    valid: &["YWRtaW46c2VjcmV0MQ==", "YXBpOkNnaEV4TGR5ODNH"],
    invalid: &["Zm9vYmFy", "YWRtaW46", "not base64!"],
};

fn validate(value: &[u8]) -> bool {
    let Some(text) = base64(value.strip_suffix(b"==").or_else(|| value.strip_suffix(b"=")).unwrap_or(value))
    else {
        return false;
    };
    let colon = text.iter().position(|byte| *byte == b':');
    colon.is_some_and(|at| at + 1 < text.len())
        && text.iter().all(|byte| (0x20..0x7F).contains(byte) || *byte >= 0x80)
}
