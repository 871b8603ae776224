//! Certificates: read from files or got from CAs, chosen by name.

pub mod by_name;
mod facts;
mod load;
pub mod sealing;
mod select;
mod wanted;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dns::Name;
use model::{CertificatePack, Resources, Zone, ZoneId};
use sha2::{Digest, Sha256};
use store::Change;
use uuid::Uuid;

pub use by_name::CertificatesByName;
pub use facts::{CertificateFacts, ChainMistake, KeyAlgorithm, MAX_CHAIN, chain_mistake};
pub use load::load;
pub use select::Certificates;
pub use wanted::WantedNames;

/// What the TXT record of a `dns-01` challenge says (RFC 8555 section 8.4).
pub fn dns_value(key_authorization: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(key_authorization.as_bytes()))
}

/// Deletes a pack, and the records that were made for its order.
pub fn deletion(resources: &Resources, pack: &CertificatePack) -> Vec<Change> {
    let mut changes = record_deletions(resources, pack);
    changes.push(Change::DeletePack { zone: pack.zone.clone(), id: pack.id });
    changes
}

/// What the records that are made for the order of a pack have as their comment.
pub fn record_comment(pack: &CertificatePack) -> String {
    format!("made for the certificate pack {}", pack.id)
}

/// Deletes the records that were made for the order of a pack.
pub fn record_deletions(resources: &Resources, pack: &CertificatePack) -> Vec<Change> {
    let comment = record_comment(pack);
    let published = pack
        .order
        .iter()
        .flat_map(|order| &order.challenges)
        .filter_map(|challenge| challenge.record_name.as_ref());
    let mut changes = Vec::new();
    for name in published {
        let Ok(name) = Name::parse(name, None) else { continue };
        for (zone, records) in &resources.records {
            let own = records.at(&name).filter(|record| record.notes.comment.as_deref() == Some(&*comment));
            changes.extend(own.map(|record| Change::DeleteRecord { zone: zone.clone(), id: record.id }));
        }
    }
    changes
}

/// The label below which the validation of names is delegated to a zone: the same on every node.
pub fn delegation_label(zone: &ZoneId) -> String {
    let digest = Sha256::digest(format!("delegation\0{zone}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The name in a zone that `_acme-challenge` of a host can be an alias of.
pub fn delegation_target(zone: &Zone, host: &str) -> String {
    format!("{host}.{}.dcv.{}", delegation_label(&zone.id), zone.name)
}

/// A new identifier.
///
/// # Errors
/// If the system has no random numbers.
pub fn new_uuid() -> Result<Uuid, String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| format!("the system has no random numbers: {error}"))?;
    Ok(uuid::Builder::from_random_bytes(random).into_uuid())
}
