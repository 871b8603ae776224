//! The certificate for a name: the exact one, a wildcard one label up, or the first.

use std::collections::HashMap;
use std::sync::Arc;

use rustls::sign::CertifiedKey;

/// The certificates of one listener, by the DNS names in them.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    /// Lower case; wildcards as `*.example.com`.
    by_name: HashMap<String, Arc<CertifiedKey>>,
    /// For clients that ask for no name or an unknown one.
    first: Option<Arc<CertifiedKey>>,
}

impl Certificates {
    /// Adds a certificate under the names it is for. Of two for the same name the first wins.
    ///
    /// # Errors
    /// One sentence if it cannot be read.
    pub fn add(&mut self, certificate: Arc<CertifiedKey>) -> Result<(), String> {
        for name in names(&certificate)? {
            self.by_name.entry(name).or_insert_with(|| Arc::clone(&certificate));
        }
        self.first.get_or_insert(certificate);
        Ok(())
    }

    /// The certificate for a name (RFC 6125 section 6.4.3: a wildcard stands for one label).
    pub fn select(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let by_name = name.and_then(|name| self.select_named(&name.to_ascii_lowercase()));
        by_name.or_else(|| self.first.clone())
    }

    /// The certificate that is for a name in lower case.
    pub fn select_named(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let exact = self.by_name.get(name);
        exact.or_else(|| self.by_name.get(&format!("*.{}", name.split_once('.')?.1))).cloned()
    }
}

/// The DNS names in a certificate.
fn names(certificate: &CertifiedKey) -> Result<Vec<String>, String> {
    let leaf = certificate.end_entity_cert().map_err(|error| error.to_string())?;
    let (_, parsed) = x509_parser::parse_x509_certificate(leaf)
        .map_err(|error| format!("a certificate is malformed: {error}"))?;
    let alternatives =
        parsed.subject_alternative_name().map_err(|error| format!("a certificate is malformed: {error}"))?;
    let names = alternatives.iter().flat_map(|extension| &extension.value.general_names);
    Ok(names
        .filter_map(|name| match name {
            x509_parser::extensions::GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(names: &[&str]) -> Arc<CertifiedKey> {
        let folder = tempfile::tempdir().unwrap();
        let made =
            rcgen::generate_simple_self_signed(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())
                .unwrap();
        let (chain, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
        std::fs::write(&chain, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        super::super::load(&chain, &key).unwrap()
    }

    #[test]
    fn exact_wins_over_wildcard_over_first() {
        let (first, wild, exact) =
            (certificate(&["first.example"]), certificate(&["*.a.example"]), certificate(&["x.a.example"]));
        let mut certificates = Certificates::default();
        for c in [&first, &wild, &exact] {
            certificates.add(Arc::clone(c)).unwrap();
        }
        for (name, expected) in [
            (Some("X.a.example"), &exact),
            (Some("y.a.example"), &wild),
            (Some("z.y.a.example"), &first),
            (Some("a.example"), &first),
            (None, &first),
        ] {
            assert!(Arc::ptr_eq(&certificates.select(name).unwrap(), expected), "{name:?}");
        }
        assert!(Certificates::default().select(None).is_none());
    }
}
