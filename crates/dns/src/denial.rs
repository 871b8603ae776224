//! Denials of the one name that is asked for (RFC 9824).

use smallvec::SmallVec;

use crate::name::MAX_WIRE_BYTES;
use crate::record_set::RecordSet;

pub(crate) const NSEC: u16 = 47;
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
    fn bitmaps_are_those_of_the_standards() {
        // RFC 4034 section 4.3: A MX RRSIG NSEC TYPE1234.
        let mut expected = vec![0, 6, 0x40, 1, 0, 0, 0, 3, 4, 27];
        expected.extend([0; 26]);
        expected.push(0x20);
        assert_eq!(bitmap(&[1234, 47, 1, 15, 46]).as_slice(), expected);
        assert_eq!(nsec(b"\x01a\0", &[1], 60).rdata().next().unwrap(), b"\x01\0\x01a\0\0\x01\x40");
    }
}
