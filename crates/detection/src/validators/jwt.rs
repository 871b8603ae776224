//! JSON Web Tokens (RFC 7519 in the compact form of RFC 7515): a header that is JSON with `alg`.

use super::{Definition, base64};

pub(super) const DEFINITION: Definition = Definition {
    name: "jwt",
    summary: "Three Base64url parts of which the first is a JSON object with `alg` and the second one too.",
    validate,
    // The token of RFC 7515 appendix A.1, its parts joined here.
    valid: &[concat!(
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9",
        ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
        ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    )],
    invalid: &[
        "eyJ0eXAiOiJKV1QifQ.eyJpc3MiOiJqb2UifQ.c2lnbmF0dXJl",
        "eyJhbGciOiJIUzI1NiJ9.bm90IGpzb24.c2lnbmF0dXJl",
        "a.b.c",
    ],
};

fn validate(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'.');
    let (header, payload) = (parts.next().and_then(object), parts.next().and_then(object));
    payload.is_some()
        && header.is_some_and(|header| header.get("alg").is_some_and(serde_json::Value::is_string))
}

fn object(part: &[u8]) -> Option<serde_json::Map<String, serde_json::Value>> {
    serde_json::from_slice(&base64(part)?).ok()
}
