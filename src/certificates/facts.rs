//! What is in a certificate.

use model::certificate_pack::{IssuedCertificate, KeptKey};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use uuid::Uuid;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

/// What the first certificate of a chain says.
#[derive(Clone, Debug)]
pub struct CertificateFacts {
    /// In lower case.
    pub hosts: Vec<String>,
    pub issuer: String,
    pub serial: String,
    pub signature: String,
    /// Seconds since the epoch, as the other.
    pub not_before: u64,
    pub expires: u64,
    pub key_algorithm: KeyAlgorithm,
    pub key_bits: usize,
}

/// What kind of key a certificate is for: a client takes one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAlgorithm {
    Rsa,
    Ecdsa,
    Other,
}

impl CertificateFacts {
    /// Reads a chain in PEM.
    ///
    /// # Errors
    /// One sentence: it is no PEM, has no certificate, or the first is malformed or for no name.
    pub fn read(chain: &str) -> Result<Self, String> {
        let first = CertificateDer::pem_slice_iter(chain.as_bytes())
            .next()
            .ok_or("there is no certificate in the text")?
            .map_err(|error| format!("the certificate is not PEM: {error}"))?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&first)
            .map_err(|error| format!("the certificate is malformed: {error}"))?;
        let hosts = hosts(&parsed)?;
        if hosts.is_empty() {
            return Err("the certificate is for no DNS name".to_owned());
        }
        let seconds = |time: x509_parser::time::ASN1Time| u64::try_from(time.timestamp()).unwrap_or(0);
        Ok(Self {
            hosts,
            issuer: issuer(&parsed),
            serial: parsed.tbs_certificate.serial.to_string(),
            signature: signature(&parsed),
            not_before: seconds(parsed.validity().not_before),
            expires: seconds(parsed.validity().not_after),
            key_algorithm: key_algorithm(&parsed),
            key_bits: parsed.public_key().parsed().map_or(0, |key| key.key_size()),
        })
    }

    /// Whether it is for a host.
    pub fn covers(&self, host: &str) -> bool {
        hostnames::name::is_covered(&self.hosts, host)
    }

    /// The certificate as it is stored: made by a CA for this server, or uploaded.
    pub fn issued(
        self,
        id: Uuid,
        chain: String,
        key: KeptKey,
        uploaded_on: String,
        authority: Option<&str>,
    ) -> IssuedCertificate {
        IssuedCertificate {
            id,
            hosts: self.hosts,
            chain,
            key,
            issuer: self.issuer,
            serial: self.serial,
            signature: self.signature,
            uploaded_on,
            not_before: self.not_before,
            expires: self.expires,
            authority: authority.unwrap_or_default().to_owned(),
            is_uploaded: authority.is_none(),
            signing_request: None,
        }
    }
}

fn hosts(certificate: &X509Certificate<'_>) -> Result<Vec<String>, String> {
    let names = certificate
        .subject_alternative_name()
        .map_err(|error| format!("the certificate is malformed: {error}"))?;
    let names = names.iter().flat_map(|extension| &extension.value.general_names);
    Ok(names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        })
        .collect())
}

/// Most certificates of a chain that somebody uploads: each client is sent all of them.
pub const MAX_CHAIN: usize = 10;

/// What is wrong with a chain that somebody uploads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainMistake {
    /// The first certificate is that of a CA.
    NoLeaf,
    /// Another one than the first is not that of a CA.
    SeveralLeaves,
    /// There are more than [`MAX_CHAIN`].
    Length,
    /// One is not signed by the one behind it.
    Order,
    /// The first is signed with a hash that clients do not take.
    Signature,
}

/// Looks at the certificates of a chain in PEM, one behind the other. A chain that cannot be read has no mistake of these.
pub fn chain_mistake(chain: &str) -> Option<ChainMistake> {
    let certificates: Vec<CertificateDer<'_>> =
        CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>().ok()?;
    let parsed: Vec<X509Certificate<'_>> = certificates
        .iter()
        .map(|certificate| x509_parser::parse_x509_certificate(certificate).map(|(_, parsed)| parsed))
        .collect::<Result<_, _>>()
        .ok()?;
    let (first, rest) = parsed.split_first()?;
    let is_ca = |certificate: &X509Certificate<'_>| certificate.is_ca();
    // MD5 and SHA-1, with RSA and ECDSA.
    let weak = ["1.2.840.113549.1.1.4", "1.2.840.113549.1.1.5", "1.2.840.10045.4.1"];
    let follows = |pair: &[X509Certificate<'_>]| match pair {
        [one, above] => one.issuer() == above.subject(),
        _ => true,
    };
    match () {
        () if parsed.len() > MAX_CHAIN => Some(ChainMistake::Length),
        () if is_ca(first) => Some(ChainMistake::NoLeaf),
        () if rest.iter().any(|certificate| !is_ca(certificate)) => Some(ChainMistake::SeveralLeaves),
        () if !parsed.windows(2).all(follows) => Some(ChainMistake::Order),
        () if weak.contains(&first.signature_algorithm.algorithm.to_id_string().as_str()) => {
            Some(ChainMistake::Signature)
        }
        () => None,
    }
}

/// The organization of the issuer, else its common name.
fn issuer(certificate: &X509Certificate<'_>) -> String {
    let issuer = certificate.issuer();
    let organization = issuer.iter_organization().next().and_then(|name| name.as_str().ok());
    let common_name = || issuer.iter_common_name().next().and_then(|name| name.as_str().ok());
    organization.or_else(common_name).unwrap_or("").to_owned()
}

fn key_algorithm(certificate: &X509Certificate<'_>) -> KeyAlgorithm {
    match certificate.public_key().algorithm.algorithm.to_id_string().as_str() {
        "1.2.840.113549.1.1.1" => KeyAlgorithm::Rsa,
        "1.2.840.10045.2.1" => KeyAlgorithm::Ecdsa,
        _ => KeyAlgorithm::Other,
    }
}

/// How it is signed, in the words of clients.
fn signature(certificate: &X509Certificate<'_>) -> String {
    let id = certificate.signature_algorithm.algorithm.to_id_string();
    let word = match id.as_str() {
        "1.2.840.10045.4.3.2" => "ECDSAWithSHA256",
        "1.2.840.10045.4.3.3" => "ECDSAWithSHA384",
        "1.2.840.10045.4.3.4" => "ECDSAWithSHA512",
        "1.2.840.113549.1.1.11" => "SHA256WithRSA",
        "1.2.840.113549.1.1.12" => "SHA384WithRSA",
        "1.2.840.113549.1.1.13" => "SHA512WithRSA",
        "1.3.101.112" => "Ed25519",
        other => other,
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_a_leaf_and_what_signs_it() {
        let ca = |name: &str| {
            let mut parameters = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
            parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
            let key = rcgen::KeyPair::generate().unwrap();
            (parameters.self_signed(&key).unwrap().pem(), rcgen::Issuer::new(parameters, key))
        };
        let ((above, issuer), (other, _)) = (ca("above"), ca("other"));
        let leaf = |name: &str| {
            let parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
            parameters.signed_by(&rcgen::KeyPair::generate().unwrap(), &issuer).unwrap().pem()
        };
        let (one, two) = (leaf("a.dev"), leaf("b.dev"));
        for (chain, expected) in [
            (one.clone(), None),
            (format!("{one}{above}"), None),
            (format!("{above}{one}"), Some(ChainMistake::NoLeaf)),
            (format!("{one}{two}"), Some(ChainMistake::SeveralLeaves)),
            (format!("{one}{other}"), Some(ChainMistake::Order)),
            (format!("{one}{}", above.repeat(MAX_CHAIN)), Some(ChainMistake::Length)),
            (String::new(), None),
        ] {
            assert_eq!(chain_mistake(&chain), expected);
        }
    }

    #[test]
    fn facts_are_read_and_wildcards_stand_for_one_label() {
        let made =
            rcgen::generate_simple_self_signed(vec!["*.A.dev".to_owned(), "b.dev".to_owned()]).unwrap();
        let facts = CertificateFacts::read(&made.cert.pem()).unwrap();
        assert_eq!(
            (&facts.hosts[..], facts.signature.as_str()),
            (&["*.a.dev".to_owned(), "b.dev".to_owned()][..], "ECDSAWithSHA256")
        );
        assert!(facts.not_before < facts.expires && !facts.serial.is_empty());
        for (host, is_covered) in [
            ("x.a.dev", true),
            ("b.dev", true),
            ("*.a.dev", true),
            ("a.dev", false),
            ("x.y.a.dev", false),
            ("x.b.dev", false),
        ] {
            assert_eq!(facts.covers(host), is_covered, "{host}");
        }
        for text in ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert!(CertificateFacts::read(text).is_err(), "{text}");
        }
    }
}
