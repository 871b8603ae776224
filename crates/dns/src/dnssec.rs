//! Signatures made when they are asked for (RFC 4034, RFC 6605).

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::name::{Name, is_wildcard, labels_of};
use crate::record_set::{CLASS_IN, QUESTION_NAME, RecordSet};

pub const RRSIG: u16 = 46;
pub const DNSKEY: u16 = 48;
pub const CDS: u16 = 59;
pub const CDNSKEY: u16 = 60;
/// ECDSA with P-256 and SHA-256.
pub const ALGORITHM: u8 = 13;
/// The flags of a key that signs keys and everything else.
pub const FLAGS: u16 = 257;
/// SHA-256.
pub const DIGEST_TYPE: u8 = 2;
/// How long a signature holds before and behind the time at which it is made, in seconds: clocks differ.
const BEFORE: u32 = 3_600;
const BEHIND: u32 = 2 * 86_400;
/// Bytes of an RRSIG record's data before the name of its signer.
const FIXED_BYTES: usize = 18;

/// The key of a zone, which signs all of it.
pub struct ZoneKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    /// Data of its DNSKEY record.
    dnskey: Box<[u8]>,
    key_tag: u16,
}

impl ZoneKey {
    /// A new private key (PKCS 8).
    ///
    /// # Errors
    /// One sentence if the system has no random numbers.
    pub fn generate() -> Result<Vec<u8>, String> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let document = document.map_err(|_| "the system has no random numbers for a key".to_owned())?;
        Ok(document.as_ref().to_vec())
    }

    /// Reads a private key.
    ///
    /// # Errors
    /// One sentence if it is none.
    pub fn parse(pkcs8: &[u8]) -> Result<Self, String> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8)
            .map_err(|_| "the key of the zone is no ECDSA key of P-256".to_owned())?;
        let mut dnskey = FLAGS.to_be_bytes().to_vec();
        dnskey.extend([3, ALGORITHM]);
        // Without the byte that says that both coordinates follow (RFC 6605 section 4).
        dnskey.extend_from_slice(pair.public_key().as_ref().get(1..).unwrap_or(&[]));
        let key_tag = key_tag(&dnskey);
        Ok(Self { pair, random: SystemRandom::new(), dnskey: dnskey.into(), key_tag })
    }

    /// Data of its DNSKEY record.
    pub fn dnskey(&self) -> &[u8] {
        &self.dnskey
    }

    pub fn key_tag(&self) -> u16 {
        self.key_tag
    }

    /// Its hash for the DS record of a zone.
    pub fn digest(&self, zone: &Name) -> [u8; 32] {
        Sha256::new().chain_update(zone.wire()).chain_update(&self.dnskey).finalize().into()
    }

    /// Data of the zone's DS record.
    pub fn ds(&self, zone: &Name) -> Vec<u8> {
        let mut ds = self.key_tag.to_be_bytes().to_vec();
        ds.extend([ALGORITHM, DIGEST_TYPE]);
        ds.extend(self.digest(zone));
        ds
    }

    /// A signature of a set at a name in lower case: an RRSIG record whose name points to the question's. `None` if the
    /// system cannot sign.
    pub(crate) fn sign(&self, zone: &Name, owner: &[u8], set: &RecordSet, now: u32) -> Option<Vec<u8>> {
        let ttl: [u8; 4] = set.wire.get(6..10)?.try_into().ok()?;
        let labels = label_count(owner);
        let mut data = SmallVec::<[u8; 512]>::new();
        data.extend_from_slice(&set.record_type.to_be_bytes());
        data.extend_from_slice(&[ALGORITHM, labels]);
        data.extend_from_slice(&ttl);
        data.extend_from_slice(&now.wrapping_add(BEHIND).to_be_bytes());
        data.extend_from_slice(&now.wrapping_sub(BEFORE).to_be_bytes());
        data.extend_from_slice(&self.key_tag.to_be_bytes());
        data.extend_from_slice(zone.wire());
        let signed_head = data.len();
        // INVARIANT: the records of a set are sorted by their data (RFC 4034 section 6.3), names in it in lower case.
        for rdata in set.rdata() {
            data.extend_from_slice(owner);
            data.extend_from_slice(&set.record_type.to_be_bytes());
            data.extend_from_slice(&CLASS_IN);
            data.extend_from_slice(&ttl);
            data.extend_from_slice(&u16::try_from(rdata.len()).ok()?.to_be_bytes());
            data.extend_from_slice(rdata);
        }
        let signature = self.pair.sign(&self.random, &data).ok()?;
        let mut record = Vec::with_capacity(12 + FIXED_BYTES + zone.wire().len() + 64);
        record.extend(QUESTION_NAME);
        record.extend(RRSIG.to_be_bytes());
        record.extend(CLASS_IN);
        record.extend(ttl);
        let length = signed_head + signature.as_ref().len();
        record.extend(u16::try_from(length).ok()?.to_be_bytes());
        record.extend_from_slice(data.get(..signed_head)?);
        record.extend_from_slice(signature.as_ref());
        Some(record)
    }
}

impl std::fmt::Debug for ZoneKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ZoneKey({})", self.key_tag)
    }
}

/// RFC 4034, appendix B.
fn key_tag(dnskey: &[u8]) -> u16 {
    let sum: u32 = dnskey
        .iter()
        .enumerate()
        .map(|(nth, byte)| if nth % 2 == 0 { u32::from(*byte) << 8 } else { u32::from(*byte) })
        .sum();
    (sum.wrapping_add(sum >> 16 & 0xFFFF) & 0xFFFF) as u16
}

/// Labels of a name, without a `*` at its start (RFC 4034 section 3.1.3).
fn label_count(name: &[u8]) -> u8 {
    let counted = labels_of(name).count() - usize::from(is_wildcard(name));
    // INVARIANT: a name has at most 127 labels.
    u8::try_from(counted).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn labels_are_counted_without_an_asterisk() {
        assert_eq!(label_count(b"\x01*\x01a\x01b\0"), 2);
    }

    #[test]
    fn signatures_hold() {
        let key = ZoneKey::parse(&ZoneKey::generate().unwrap()).unwrap();
        let zone = Name::parse("example.com", None).unwrap();
        let owner = Name::parse("www.example.com", None).unwrap();
        let set = RecordSet::new(1, 300, &[&[192, 0, 2, 1], &[192, 0, 2, 2]]);
        let record = key.sign(&zone, owner.wire(), &set, 1_000_000).unwrap();
        let (rdata, signature) = record[12..].split_at(FIXED_BYTES + zone.wire().len());
        let mut signed = rdata.to_vec();
        for last in [1, 2] {
            signed.extend(owner.wire());
            signed.extend([0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, last]);
        }
        let public = [&[4], &key.dnskey()[4..]].concat();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public).verify(&signed, signature).unwrap();
        assert_eq!(rdata[3], 3, "labels");
        assert!(ZoneKey::parse(b"none").is_err());
    }
}
