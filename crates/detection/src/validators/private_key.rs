//! Private keys in PEM (RFC 7468): the label, and Base64 that decodes to a DER or OpenSSH key.

use super::{Definition, base64};

pub(super) const DEFINITION: Definition = Definition {
    name: "private_key",
    summary: "A PEM body whose Base64 begins as a DER sequence or as an OpenSSH key.",
    validate,
    valid: &[
        concat!("-----BEGIN ", "PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIGrD\n"),
        concat!("-----BEGIN ", "OPENSSH PRIVATE KEY-----\\nb3BlbnNzaC1rZXktdjEAAAAA\\n"),
    ],
    invalid: &[
        concat!("-----BEGIN ", "PRIVATE KEY-----\n...\n"),
        concat!("-----BEGIN ", "PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA\n"),
    ],
};

fn validate(value: &[u8]) -> bool {
    // The bodies of these are no DER.
    if value.starts_with(b"PuTTY") || memchr::memmem::find(value, b"PGP PRIVATE KEY BLOCK-----").is_some() {
        return true;
    }
    let Some(label_end) = memchr::memmem::find(value, b"KEY-----").map(|at| at + 8) else { return false };
    let mut text = value.get(label_end..).unwrap_or(&[]);
    // Line ends may be escaped, as in JSON.
    while let Some(rest) = text
        .strip_prefix(b"\\n")
        .or_else(|| text.strip_prefix(b"\\r"))
        .or_else(|| text.strip_prefix(b"\r"))
        .or_else(|| text.strip_prefix(b"\n"))
    {
        text = rest;
    }
    let body: Vec<u8> = text
        .iter()
        .copied()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        .take(16)
        .collect();
    let Some(decoded) = (body.len() == 16).then(|| base64(&body)).flatten() else { return false };
    // A DER SEQUENCE, or the OpenSSH magic.
    decoded.first() == Some(&0x30) || decoded.starts_with(b"openssh-key")
}
