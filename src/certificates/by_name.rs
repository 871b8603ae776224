//! Certificates of the store by the names in them, and what CAs compare while they make new ones.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gateway::vault::MasterKey;
use model::certificate_pack::{ChallengeKind, IssuedCertificate, PendingChallenge, TlsSettings};
use model::{CertificatePack, HostnameId, PackId, PackKind, ZoneId};
use rustls::SignatureScheme;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use super::sealing::{KeyOwner, opened};
use crate::routing::Hosts;

/// A certificate that is served.
#[derive(Debug)]
pub struct ServedCertificate {
    pub pack: PackId,
    pub zone: ZoneId,
    /// Its own; what they leave open is as the zone has it.
    pub settings: TlsSettings,
    pub issued: Arc<IssuedCertificate>,
    kind: PackKind,
    master: Option<MasterKey>,
    /// Read when it is first served: of many certificates few are. Whoever asks for the same one at that moment waits for
    /// less than a millisecond; nobody else does.
    key: OnceLock<Option<Arc<CertifiedKey>>>,
}

impl ServedCertificate {
    /// The chain with its key; `None` if its key does not open or does not fit.
    pub fn certified_key(&self) -> Option<Arc<CertifiedKey>> {
        self.key.get_or_init(|| read(self.pack, &self.issued, self.master.as_ref()).ok()).clone()
    }

    /// Whether a client that takes these signatures can be shown it at this moment, in seconds since the epoch.
    pub fn suits(&self, schemes: &[SignatureScheme], now: u64) -> bool {
        let is_valid = now < self.issued.expires;
        is_valid
            && self.certified_key().is_some_and(|certified| certified.key.choose_scheme(schemes).is_some())
    }

    /// The custom hostname that it is of; `None` if it is of a zone.
    pub fn hostname(&self) -> Option<HostnameId> {
        match self.kind {
            PackKind::CustomHostname(id) => Some(id),
            PackKind::Custom(_) | PackKind::Advanced | PackKind::Universal => None,
        }
    }

    /// Which of several for one name is served: those of custom hostnames before those of zones, what somebody uploaded
    /// before what is ordered and that before what is automatic, then the newest.
    fn rank(&self) -> impl Ord {
        let of_kind = match self.kind {
            PackKind::CustomHostname(_) => (0, None),
            PackKind::Custom(custom) => (1, Some(custom.rank())),
            PackKind::Advanced => (2, None),
            PackKind::Universal => (3, None),
        };
        (of_kind, Reverse(self.issued.not_before))
    }
}

/// The names that a certificate is served for: those of its pack. What else is in it was nobody's to upload.
fn names<'p>(pack: &'p CertificatePack, issued: &'p IssuedCertificate) -> impl Iterator<Item = &'p String> {
    pack.hosts.iter().filter(|host| hostnames::name::is_covered(&issued.hosts, host))
}

/// The chain of a certificate with its key.
///
/// # Errors
/// One sentence: its key does not open, or the two do not fit.
pub fn read(
    pack: PackId,
    issued: &IssuedCertificate,
    master: Option<&MasterKey>,
) -> Result<Arc<CertifiedKey>, String> {
    let key = opened(&KeyOwner::Pack(pack), &issued.key, master)?;
    certified_key(&issued.chain, key.expose())
}

/// A chain and its key from PEM.
///
/// # Errors
/// One sentence: one of them is malformed, or they do not belong together.
pub fn certified_key(chain: &str, key: &str) -> Result<Arc<CertifiedKey>, String> {
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the certificate is not PEM: {error}"))?;
    if certificates.is_empty() {
        return Err("there is no certificate in the text".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|error| format!("the key is not PEM: {error}"))?;
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    CertifiedKey::from_der(certificates, key, &provider)
        .map(Arc::new)
        .map_err(|error| format!("the key does not fit the certificate: {error}"))
}

type CertificatesOfName = SmallVec<[Arc<ServedCertificate>; 1]>;

/// Certificates and challenges by name. A copy shares what it does not change.
#[derive(Clone, Debug)]
pub struct CertificatesByName {
    by_name: Hosts<CertificatesOfName>,
    /// What CAs ask for, by host: few at a time.
    challenges: Arc<HashMap<String, Vec<ServedChallenge>>>,
}

/// What a CA compares.
#[derive(Clone, Debug)]
struct ServedChallenge {
    pack: PackId,
    challenge: PendingChallenge,
    /// The certificate that has its digest (RFC 8737).
    alpn: Arc<OnceLock<Option<Arc<CertifiedKey>>>>,
}

impl Default for CertificatesByName {
    fn default() -> Self {
        Self { by_name: Hosts::in_parts(), challenges: Arc::default() }
    }
}

impl CertificatesByName {
    /// Puts what a pack has.
    pub fn put(&mut self, pack: &CertificatePack, master: Option<&MasterKey>) {
        for issued in &pack.certificates {
            let served = Arc::new(ServedCertificate {
                pack: pack.id,
                zone: pack.zone.clone(),
                settings: pack.settings.clone(),
                issued: Arc::clone(issued),
                kind: pack.kind,
                master: master.cloned(),
                key: OnceLock::new(),
            });
            for name in names(pack, issued) {
                let mut of_name = self.by_name.get(name).cloned().unwrap_or_default();
                of_name.push(Arc::clone(&served));
                of_name.sort_by(|one, other| one.rank().cmp(&other.rank()));
                self.by_name.insert(name, of_name);
            }
        }
        let challenges = pack.order.iter().flat_map(|order| &order.challenges);
        for challenge in challenges {
            let of_host = Arc::make_mut(&mut self.challenges).entry(challenge.host.clone()).or_default();
            let (pack, challenge) = (pack.id, challenge.clone());
            of_host.push(ServedChallenge { pack, challenge, alpn: Arc::default() });
        }
    }

    /// Takes away what a pack had.
    pub fn remove(&mut self, pack: &CertificatePack) {
        for name in pack.certificates.iter().flat_map(|issued| names(pack, issued)) {
            let Some(mut of_name) = self.by_name.get(name).cloned() else { continue };
            of_name.retain(|known| known.pack != pack.id);
            if of_name.is_empty() {
                self.by_name.remove(name);
            } else {
                self.by_name.insert(name, of_name);
            }
        }
        for challenge in pack.order.iter().flat_map(|order| &order.challenges) {
            let all = Arc::make_mut(&mut self.challenges);
            if let Some(of_host) = all.get_mut(&challenge.host) {
                of_host.retain(|known| known.pack != pack.id);
                if of_host.is_empty() {
                    all.remove(&challenge.host);
                }
            }
        }
    }

    /// The certificate for a name in lower case (RFC 6125 section 6.4.3: a wildcard stands for one label), of those that
    /// count.
    pub fn select(
        &self,
        name: &str,
        counts: impl Fn(&ServedCertificate) -> bool,
    ) -> Option<&Arc<ServedCertificate>> {
        let of = |name: &str| self.by_name.get(name)?.iter().find(|served| counts(served));
        of(name).or_else(|| {
            let mut wildcard = SmallVec::<[u8; 128]>::from_slice(b"*.");
            wildcard.extend_from_slice(name.split_once('.')?.1.as_bytes());
            of(std::str::from_utf8(&wildcard).ok()?)
        })
    }

    /// What is answered to a CA that asks for a token at a host (RFC 8555 section 8.3).
    pub fn key_authorization(&self, host: &str, token: &str) -> Option<&str> {
        let of_host = self.challenges.get(host)?;
        let found = of_host.iter().map(|served| &served.challenge);
        let found = found.filter(|challenge| challenge.kind == ChallengeKind::Http);
        found
            .filter(|challenge| challenge.token == token)
            .map(|challenge| &*challenge.key_authorization)
            .next()
    }

    /// What is shown to a CA that asks for `acme-tls/1` at a host (RFC 8737).
    pub fn alpn_certificate(&self, host: &str) -> Option<Arc<CertifiedKey>> {
        let of_host = self.challenges.get(host)?;
        let served = of_host.iter().find(|served| served.challenge.kind == ChallengeKind::TlsAlpn)?;
        served.alpn.get_or_init(|| alpn_certificate(&served.challenge)).clone()
    }

    /// How many names have a certificate.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

fn alpn_certificate(challenge: &PendingChallenge) -> Option<Arc<CertifiedKey>> {
    let digest = Sha256::digest(challenge.key_authorization.as_bytes());
    let mut parameters = rcgen::CertificateParams::new(vec![challenge.host.clone()]).ok()?;
    parameters.custom_extensions.push(rcgen::CustomExtension::new_acme_identifier(digest.as_ref()));
    let key = rcgen::KeyPair::generate().ok()?;
    let certificate = parameters.self_signed(&key).ok()?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).ok()?;
    let key = rustls::crypto::aws_lc_rs::default_provider().key_provider.load_private_key(private).ok()?;
    // Not compared with its key as others are: what reads it for that refuses the critical extension.
    Some(Arc::new(CertifiedKey::new(vec![certificate.der().clone()], key)))
}

#[cfg(test)]
mod tests {
    use model::certificate_pack::{KeptKey, ValidationMethod};
    use uuid::Uuid;

    use super::*;

    fn pack(id: u128, zone: &str, hosts: &[&str], in_certificate: &[&str]) -> CertificatePack {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let made = rcgen::generate_simple_self_signed(owned(in_certificate)).unwrap();
        let facts = crate::certificates::CertificateFacts::read(&made.cert.pem()).unwrap();
        let key = KeptKey { text: made.signing_key.serialize_pem(), is_sealed: false };
        let issued = facts.issued(Uuid::from_u128(id), made.cert.pem(), key, String::new(), None);
        let names = (owned(hosts), ValidationMethod::Http);
        let at = (0, String::new());
        let mut pack = CertificatePack::new(
            PackId(Uuid::from_u128(id)),
            ZoneId::new(zone),
            PackKind::Advanced,
            names,
            at,
        );
        pack.certificates.push(Arc::new(issued));
        pack
    }

    #[test]
    fn a_certificate_is_served_for_the_names_of_its_pack_alone() {
        let mut all = CertificatesByName::default();
        let wide = pack(1, "a", &["shop.a.dev", "x.a.dev"], &["*.a.dev", "shop.a.dev", "b.dev", "*.b.dev"]);
        all.put(&wide, None);
        let found =
            |all: &CertificatesByName, name: &str| all.select(name, |_| true).map(|served| served.pack);
        for (name, is_served) in [
            ("shop.a.dev", true),
            ("x.a.dev", true),
            ("y.a.dev", false),
            ("b.dev", false),
            ("x.b.dev", false),
        ] {
            assert_eq!(found(&all, name).is_some(), is_served, "{name}");
        }
        assert_eq!(all.len(), 2);
        all.put(&pack(2, "b", &["b.dev"], &["b.dev"]), None);
        assert_eq!(found(&all, "b.dev"), Some(PackId(Uuid::from_u128(2))));
        all.remove(&wide);
        assert_eq!((all.len(), found(&all, "shop.a.dev")), (1, None));
    }

    #[test]
    fn what_is_over_or_signed_otherwise_does_not_suit() {
        let mut all = CertificatesByName::default();
        let pack = pack(1, "a", &["a.dev"], &["a.dev"]);
        let expires = pack.certificates[0].expires;
        all.put(&pack, None);
        let suits = |scheme, now| all.select("a.dev", |served| served.suits(&[scheme], now)).is_some();
        assert!(suits(SignatureScheme::ECDSA_NISTP256_SHA256, expires - 1));
        assert!(!suits(SignatureScheme::ECDSA_NISTP256_SHA256, expires));
        assert!(!suits(SignatureScheme::RSA_PSS_SHA256, expires - 1));
    }
}
