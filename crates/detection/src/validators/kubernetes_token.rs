//! Service account tokens of Kubernetes: a JSON Web Token whose payload names a service account.

use super::{Definition, base64};

pub(super) const DEFINITION: Definition = Definition {
    name: "kubernetes_token",
    summary: "A JSON Web Token whose payload is about a Kubernetes service account.",
    validate,
    valid: &[concat!(
        "eyJhbGci",
        "OiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJrdWJlcm5ldGVzL3NlcnZpY2VhY2NvdW50Iiwic3ViIjoic3lzdGVtOnNlcnZpY2VhY2NvdW50OmEifQ.c2lnbmF0dXJlc2lnbmF0dXJl"
    )],
    invalid: &[concat!("eyJhbGci", "OiJSUzI1NiJ9.eyJpc3MiOiJqb2UifQ.c2lnbmF0dXJl"), "a.b.c"],
};

fn validate(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'.');
    let header = parts.next().and_then(base64).unwrap_or_default();
    let payload = parts.next().and_then(base64).unwrap_or_default();
    header.starts_with(b"{") && memchr::memmem::find(&payload, b"serviceaccount").is_some()
}
