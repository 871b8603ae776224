//! Chain and key from PEM files.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// Reads a chain and its key, and checks that they belong together.
///
/// # Errors
/// One sentence: which file is unreadable, or that the two do not match.
pub fn load(chain: &Path, key: &Path) -> Result<Arc<CertifiedKey>, String> {
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect)
        .map_err(|error| format!("cannot read the certificates in `{}`: {error}", chain.display()))?;
    if certificates.is_empty() {
        return Err(format!("there is no certificate in `{}`", chain.display()));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| format!("cannot read the key in `{}`: {error}", key.display()))?;
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    CertifiedKey::from_der(certificates, private, &provider).map(Arc::new).map_err(|error| {
        format!(
            "the key in `{}` does not fit the certificate in `{}`: {error}",
            key.display(),
            chain.display()
        )
    })
}
