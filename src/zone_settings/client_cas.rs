//! CAs whose client certificates a zone takes.

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// CAs from PEM.
///
/// # Errors
/// One sentence: the text is not PEM, has no certificate, or one that cannot be a CA.
pub fn roots(pem: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| format!("the certificates are not PEM: {error}"))?;
        roots.add(certificate).map_err(|error| format!("a certificate cannot be a CA: {error}"))?;
    }
    if roots.is_empty() {
        return Err("there is no certificate in the text".to_owned());
    }
    Ok(roots)
}
