//! Denials of the one name that is asked for: by its name, or by a hash of that (RFC 9824).

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use data_encoding::BASE32_DNSSEC;
use smallvec::SmallVec;

use crate::name::{MAX_WIRE_BYTES, Name};
use crate::record_set::RecordSet;

pub(crate) const NSEC: u16 = 47;
const NSEC3: u16 = 50;
pub(crate) const NSEC3PARAM: u16 = 51;
/// Says that a name does not exist (RFC 9824 section 2).
pub(crate) const NXNAME: u16 = 128;

/// A set of one NSEC record at a name: it has these types, and the name behind it is the next there can be (RFC 9824).
pub(crate) fn nsec(name: &[u8], types: &[u16], ttl: u32) -> RecordSet {
    let mut rdata = SmallVec::<[u8; 320]>::new();
    // If no label fits before the name, the next name is the name itself.
    if name.len() + 2 <= MAX_WIRE_BYTES {
        rdata.extend_from_slice(&[1, 0]);
    }
    rdata.extend_from_slice(name);
    rdata.extend_from_slice(&bitmap(types));
    RecordSet::new(NSEC, ttl, &[&rdata])
}

/// Bytes of a hash, and of the label that is written of it.
const HASH_BYTES: usize = 20;
const LABEL_BYTES: usize = 32;
/// SHA-1, no flag, no further iteration, no salt (RFC 9276 section 3.1): data of a zone's NSEC3PARAM record, and how data
/// of its NSEC3 records begins.
pub(crate) const HASHING: [u8; 5] = [1, 0, 0, 0, 0];

/// Whether hashes of a zone's names can be names of it.
pub fn takes_hashes(zone: &Name) -> bool {
    1 + LABEL_BYTES + zone.wire().len() <= MAX_WIRE_BYTES
}

/// A set of one NSEC3 record (RFC 5155), and the label in front of the zone's name that it stands at.
pub(crate) struct HashedDenial {
    /// With its length before it.
    pub(crate) label: [u8; 1 + LABEL_BYTES],
    pub(crate) set: RecordSet,
}

/// Says which types a name in lower case has, by its hash; the hash behind it is the next there can be.
pub(crate) fn nsec3(name: &[u8], types: &[u16], ttl: u32) -> HashedDenial {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, name);
    let mut next = SmallVec::<[u8; HASH_BYTES]>::from_slice(hash.as_ref());
    for byte in next.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
    let mut rdata = SmallVec::<[u8; 128]>::from_slice(&HASHING);
    rdata.push(HASH_BYTES as u8);
    rdata.extend_from_slice(&next);
    rdata.extend_from_slice(&bitmap(types));
    let mut label = [LABEL_BYTES as u8; 1 + LABEL_BYTES];
    if let Some((_, text)) = label.split_first_mut() {
        BASE32_DNSSEC.encode_mut(hash.as_ref(), text);
    }
    HashedDenial { label, set: RecordSet::new(NSEC3, ttl, &[&rdata]) }
}

/// Types as a bitmap (RFC 4034 section 4.1.2).
fn bitmap(types: &[u16]) -> SmallVec<[u8; 64]> {
    let mut sorted = SmallVec::<[u16; 32]>::from_slice(types);
    sorted.sort_unstable();
    sorted.dedup();
    let mut bitmap = SmallVec::new();
    for window in sorted.chunk_by(|one, other| one >> 8 == other >> 8) {
        let mut bits = [0_u8; 32];
        let mut used = 0;
        for of in window {
            let low = usize::from(of & 0xFF);
            if let Some(byte) = bits.get_mut(low / 8) {
                *byte |= 0x80 >> (low % 8);
            }
            used = low / 8 + 1;
        }
        let number = window.first().map_or(0, |first| first >> 8);
        bitmap.extend_from_slice(&[u8::try_from(number).unwrap_or(0), u8::try_from(used).unwrap_or(0)]);
        bitmap.extend_from_slice(bits.get(..used).unwrap_or(&[]));
    }
    bitmap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standards() {
        let denial = nsec3(b"\x07example\0", &[NXNAME], 60);
        assert_eq!(denial.label, *b"\x203msev9usmd4br9s97v51r2tdvmr9iqo1");
        let rdata = denial.set.rdata().next().unwrap();
        let (head, behind) = rdata.split_at(HASHING.len() + 1);
        assert_eq!(head, [1, 0, 0, 0, 0, 20]);
        let (next, types) = behind.split_at(HASH_BYTES);
        assert_eq!(BASE32_DNSSEC.encode(next), "3msev9usmd4br9s97v51r2tdvmr9iqo2");
        assert_eq!(types, [&[0, 17][..], &[0; 16], &[0x80]].concat());
        // A name that has nothing, but has names below it, has no type.
        assert_eq!(nsec3(b"\x01a\0", &[], 60).set.rdata().next().unwrap().len(), head.len() + HASH_BYTES);
        let label = [&[60][..], &[b'a'; 60]].concat();
        let wire_of = |labels: usize| [label.repeat(labels), vec![0]].concat();
        let of = |labels| Name::from_wire(&wire_of(labels)).unwrap();
        assert!(takes_hashes(&of(3)) && !takes_hashes(&of(4)));
    }

    #[test]
    fn bitmaps_are_those_of_the_standards() {
        // RFC 4034 section 4.3: A MX RRSIG NSEC TYPE1234.
        let mut expected = vec![0, 6, 0x40, 1, 0, 0, 0, 3, 4, 27];
        expected.extend([0; 26]);
        expected.push(0x20);
        assert_eq!(bitmap(&[1234, 47, 1, 15, 46]).as_slice(), expected);
        assert_eq!(nsec(b"\x01a\0", &[1], 60).rdata().next().unwrap(), b"\x01\0\x01a\0\0\x01\x40");
    }
}
