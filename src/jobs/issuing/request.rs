//! What a CA is asked for.

use model::CertificatePack;
use model::certificate_pack::{ChallengeKind, ValidationMethod};

/// What is in the subject of certificates whose names are all too long for it.
const BRANDING: &str = "sni.svc";

/// The challenges that a pack may take, the best first.
pub(super) fn kinds(pack: &CertificatePack, has_plain_listener: bool) -> Vec<ChallengeKind> {
    match pack.method {
        _ if pack.has_wildcard() => vec![ChallengeKind::Dns],
        ValidationMethod::Txt => vec![ChallengeKind::Dns],
        ValidationMethod::Http | ValidationMethod::Email if has_plain_listener => {
            vec![ChallengeKind::Http, ChallengeKind::TlsAlpn]
        }
        ValidationMethod::Http | ValidationMethod::Email => vec![ChallengeKind::TlsAlpn, ChallengeKind::Http],
    }
}

/// The request for the certificate of a pack (RFC 2986), as DER.
pub(super) fn request(pack: &CertificatePack, key: &rcgen::KeyPair) -> Result<Vec<u8>, String> {
    let mut parameters =
        rcgen::CertificateParams::new(pack.hosts.clone()).map_err(|error| error.to_string())?;
    let mut subject = rcgen::DistinguishedName::new();
    let short = pack.hosts.iter().find(|host| !hostnames::name::needs_branding(host));
    if let Some(name) = short.map(String::as_str).or(pack.has_branding.then_some(BRANDING)) {
        subject.push(rcgen::DnType::CommonName, name);
    }
    parameters.distinguished_name = subject;
    parameters.serialize_request(key).map(|request| request.der().to_vec()).map_err(|error| error.to_string())
}
