//! Certificates that somebody brings.

use gateway::vault::MasterKey;
use model::PackId;
use model::certificate_pack::IssuedCertificate;

use crate::api::error::{self, ErrorCode};
use crate::certificates::{CertificateFacts, ChainMistake, by_name::certified_key, chain_mistake, sealing};

/// Reads a certificate that is uploaded with its key, and checks that it is for these hosts.
///
/// # Errors
/// The code and one sentence: one of them is malformed, they do not belong together, or a host is not in it.
pub(in crate::api::resources) fn read(
    pack: PackId,
    (chain, key): (&str, &str),
    hosts: &[String],
    now: &str,
    master: Option<&MasterKey>,
) -> Result<IssuedCertificate, (&'static ErrorCode, String)> {
    if chain.trim().is_empty() {
        return Err((error::NO_CERTIFICATE, "expected a certificate as PEM, found nothing".to_owned()));
    }
    let facts = CertificateFacts::read(chain).map_err(|message| (error::BAD_CERTIFICATE, message))?;
    if let Some(mistake) = chain_mistake(chain) {
        return Err(refusal(mistake));
    }
    if key.trim().is_empty() || !key.contains("PRIVATE KEY") {
        return Err((error::BAD_KEY, "expected a private key as PEM beside the certificate".to_owned()));
    }
    certified_key(chain, key).map_err(|message| {
        let code = if message.contains("not PEM") { error::BAD_KEY } else { error::KEY_MISMATCH };
        (code, message)
    })?;
    if let Some(missing) = hosts.iter().find(|host| !facts.covers(host)) {
        let message =
            format!("the certificate is not for `{missing}`; it is for `{}`", facts.hosts.join("`, `"));
        return Err((error::CERTIFICATE_LACKS_HOST, message));
    }
    let key = sealing::kept(&sealing::KeyOwner::Pack(pack), key, master)
        .map_err(|message| (error::UNAVAILABLE, message))?;
    let id = crate::certificates::new_uuid().map_err(|message| (error::UNAVAILABLE, message))?;
    Ok(facts.issued(id, chain.to_owned(), key, now.to_owned(), None))
}

fn refusal(mistake: ChainMistake) -> (&'static ErrorCode, String) {
    let (code, message) = match mistake {
        ChainMistake::NoLeaf => {
            (error::NO_LEAF, "the first certificate is that of a CA; put the one of the hostname before it")
        }
        ChainMistake::SeveralLeaves => {
            (error::SEVERAL_LEAVES, "behind the first there are certificates that are not those of CAs")
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
