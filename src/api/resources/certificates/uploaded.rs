//! Certificates that somebody uploads, as bodies write them.

use std::sync::Arc;

use model::certificate_pack::{CertificatePack, IssuedCertificate};
use model::{PackId, PackStatus, Resources, Secret, SigningRequest, SigningRequestId, Zone};

use crate::api::error::{self, ApiError, ApiErrors, ErrorCode};
use crate::api::input::Fields;
use crate::api::operation::{ApiCall, new_uuid};
use crate::certificates::by_name::certified_key;
use crate::certificates::sealing::{self, KeyOwner};
use crate::certificates::{CertificateFacts, ChainMistake, KeyAlgorithm, MAX_CHAIN, chain_mistake};

/// Most names of a certificate.
const MAX_HOSTS: usize = 250;
/// Longest RSA key: a longer one takes a processor too long in each handshake.
const MAX_RSA_BITS: usize = 4_096;

/// A chain, and the key that it goes with.
#[derive(Clone, Debug)]
pub(in crate::api::resources) struct UploadedCertificate {
    chain: String,
    key: UploadedKey,
    /// Where the chain stands in the body.
    pointer: String,
}

#[derive(Clone, Debug)]
enum UploadedKey {
    /// PEM.
    Text(Secret),
    OfRequest(SigningRequestId),
}

/// A certificate with what is in it.
pub(in crate::api::resources) struct ReadCertificate {
    pub(in crate::api::resources) issued: IssuedCertificate,
    pub(in crate::api::resources) key_algorithm: KeyAlgorithm,
}

impl UploadedCertificate {
    /// Reads the two fields of a certificate and its key, or the id of the request that has the key; `None` if there are
    /// none of them.
    pub(in crate::api::resources) fn of_fields(
        fields: &Fields<'_>,
        (chain_name, key_name): (&'static str, &'static str),
    ) -> Option<Self> {
        let request = match fields.text("custom_csr_id").filter(|id| !id.is_empty()).map(str::parse) {
            None => None,
            Some(Ok(id)) => Some(SigningRequestId(id)),
            Some(Err(_)) => {
                let message = "expected the identifier of a certificate request, which is a UUID";
                fields.refuse(error::BAD_CSR_ID, "custom_csr_id", message);
                return None;
            }
        };
        let (chain, key) = (fields.text(chain_name), fields.text(key_name));
        let Some(chain) = chain else {
            if key.is_some() || request.is_some() {
                let message =
                    format!("`{key_name}` and `custom_csr_id` go with `{chain_name}`, which is missing");
                fields.refuse(error::NO_CERTIFICATE, chain_name, message);
            }
            return None;
        };
        let key = match (key, request) {
            (Some(_), Some(_)) => {
                let message = format!("expected one of `{key_name}` and `custom_csr_id`, found both");
                fields.refuse(error::BAD_KEY, key_name, message);
                return None;
            }
            (None, Some(id)) => UploadedKey::OfRequest(id),
            (text, None) => UploadedKey::Text(Secret::new(text.unwrap_or_default())),
        };
        Some(Self { chain: chain.to_owned(), key, pointer: fields.pointer(chain_name) })
    }

    fn refused(&self, code: &'static ErrorCode, message: impl Into<String>) -> ApiErrors {
        ApiError::at(code, self.pointer.as_str(), message).into()
    }

    /// Reads it for a pack of a zone.
    ///
    /// # Errors
    /// One of the two is malformed, they do not belong together, the certificate is over, or there is no such request.
    pub(in crate::api::resources) fn read(
        &self,
        pack: PackId,
        call: &ApiCall,
        (resources, zone): (&Resources, &Zone),
    ) -> Result<ReadCertificate, ApiErrors> {
        if self.chain.trim().is_empty() {
            return Err(self.refused(error::NO_CERTIFICATE, "expected a certificate as PEM, found nothing"));
        }
        let facts = CertificateFacts::read(&self.chain)
            .map_err(|message| self.refused(error::BAD_CERTIFICATE, message))?;
        if let Some(mistake) = chain_mistake(&self.chain) {
            let (code, message) = refusal(mistake);
            return Err(self.refused(code, message));
        }
        if facts.hosts.len() > MAX_HOSTS {
            let message = format!("a certificate has at most {MAX_HOSTS} names, found {}", facts.hosts.len());
            return Err(self.refused(error::BAD_CERTIFICATE, message));
        }
        if facts.key_algorithm == KeyAlgorithm::Rsa && facts.key_bits > MAX_RSA_BITS {
            let message = format!("an RSA key has at most {MAX_RSA_BITS} bits, found {}", facts.key_bits);
            return Err(self.refused(error::BAD_CERTIFICATE, message));
        }
        if facts.expires <= call.unix {
            let ended = crate::api::resources::hostnames::time(facts.expires);
            let message = format!("the certificate ended at {ended}; upload one that is valid");
            return Err(self.refused(error::BAD_CERTIFICATE, message));
        }
        let master = call.shared.secrets_key.as_ref();
        let (key, request) = match &self.key {
            UploadedKey::Text(key) => (key.clone(), None),
            UploadedKey::OfRequest(id) => {
                let request = request(resources, zone, *id)?;
                let key = sealing::opened(&KeyOwner::SigningRequest(*id), &request.key, master);
                let key = key.map_err(|message| {
                    let message = format!("the key of the request cannot be opened: {message}");
                    self.refused(error::UNAVAILABLE, message)
                });
                (key?, Some(*id))
            }
        };
        let key = key.expose();
        if key.trim().is_empty() || !key.contains("PRIVATE KEY") {
            let message = "expected a private key as PEM beside the certificate";
            return Err(self.refused(error::BAD_KEY, message));
        }
        certified_key(&self.chain, key).map_err(|message| {
            let code = if message.contains("not PEM") { error::BAD_KEY } else { error::KEY_MISMATCH };
            self.refused(code, message)
        })?;
        let key = sealing::kept(&KeyOwner::Pack(pack), key, master)
            .map_err(|message| self.refused(error::UNAVAILABLE, message))?;
        let key_algorithm = facts.key_algorithm;
        let issued = facts.issued(new_uuid()?, self.chain.clone(), key, call.now.clone(), None);
        Ok(ReadCertificate {
            issued: IssuedCertificate { signing_request: request, ..issued },
            key_algorithm,
        })
    }

    /// Refuses a certificate in which one of these names is not.
    ///
    /// # Errors
    /// The first that is missing.
    pub(in crate::api::resources) fn check_hosts(
        &self,
        read: &IssuedCertificate,
        hosts: &[String],
    ) -> Result<(), ApiErrors> {
        let is_missing = |host: &&String| !hostnames::name::is_covered(&read.hosts, host);
        let Some(missing) = hosts.iter().find(is_missing) else { return Ok(()) };
        let of = read.hosts.join("`, `");
        let message = format!("the certificate is not for `{missing}`; it is for `{of}`");
        Err(self.refused(error::CERTIFICATE_LACKS_HOST, message))
    }
}

/// The request of an id that a zone may use: its own, or one of its account.
///
/// # Errors
/// If there is none.
fn request<'r>(
    resources: &'r Resources,
    zone: &Zone,
    id: SigningRequestId,
) -> Result<&'r SigningRequest, ApiErrors> {
    let is_of = |request: &SigningRequest| match &request.zone {
        Some(of) => *of == zone.id,
        None => request.account == zone.account,
    };
    let found =
        resources.signing_requests.get(&id).map(|request| &request.value).filter(|found| is_of(found));
    found.ok_or_else(|| {
        let message = format!("neither the zone nor its account has a certificate request `{id}`");
        ApiError::new(error::NO_CSR, message).into()
    })
}

/// Puts what was uploaded into a pack, in the place of what it had: one certificate, or two with keys of two kinds.
///
/// # Errors
/// If two have keys of the same kind.
pub(in crate::api::resources) fn upload(
    pack: &mut CertificatePack,
    mut read: Vec<ReadCertificate>,
) -> Result<(), ApiErrors> {
    if let [one, other] = &read[..]
        && one.key_algorithm == other.key_algorithm
    {
        let message = "of two certificates one has an RSA key and the other an ECDSA key";
        return Err(ApiError::new(error::BAD_BUNDLE, message).into());
    }
    // What ends first says when the pack does.
    read.sort_by_key(|read| read.issued.expires);
    pack.certificates = read.into_iter().map(|read| Arc::new(read.issued)).collect();
    pack.next_step = pack.certificates.first().map_or(pack.next_step, |first| first.expires);
    (pack.status, pack.order, pack.attempts) = (PackStatus::Active, None, 0);
    (pack.errors, pack.is_forbidden_by_caa) = (Vec::new(), false);
    Ok(())
}

fn refusal(mistake: ChainMistake) -> (&'static ErrorCode, String) {
    let (code, message) = match mistake {
        ChainMistake::NoLeaf => {
            (error::NO_LEAF, "the first certificate is that of a CA; put the one of the names before it")
        }
        ChainMistake::SeveralLeaves => {
            (error::SEVERAL_LEAVES, "behind the first there are certificates that are not those of CAs")
        }
        ChainMistake::Length => {
            let message =
                format!("a chain has at most {MAX_CHAIN} certificates; leave out those that clients have");
            return (error::BAD_BUNDLE, message);
        }
        ChainMistake::Order => (
            error::BAD_BUNDLE,
            "each certificate must be signed by the one behind it; put them in this order",
        ),
        ChainMistake::Signature => {
            (error::WEAK_SIGNATURE, "the certificate is signed with MD5 or SHA-1, which clients do not take")
        }
    };
    (code, message.to_owned())
}
