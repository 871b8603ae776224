//! Records of messages as they came.

use crate::name::MAX_LABEL_BYTES;

/// Bytes of the header of a message.
pub(crate) const HEADER_BYTES: usize = 12;

/// A record of a message.
pub(crate) struct MessageRecord<'p> {
    is_at_root: bool,
    record_type: u16,
    class: [u8; 2],
    pub(crate) ttl: [u8; 4],
    rdata: &'p [u8],
    pub(crate) behind: &'p [u8],
}

/// What follows a name, which may end with a pointer. The pointer is not followed.
pub(crate) fn after_name(wire: &[u8]) -> Option<&[u8]> {
    let mut rest = wire;
    loop {
        let (&length, behind) = rest.split_first()?;
        match length {
            0 => return Some(behind),
            1..=63 => rest = behind.get(usize::from(length)..)?,
            192.. => return behind.get(1..),
            _ => return None,
        }
    }
}

impl<'p> MessageRecord<'p> {
    pub(crate) fn read(wire: &'p [u8]) -> Option<Self> {
        let is_at_root = wire.first() == Some(&0);
        let (fixed, rest) = after_name(wire)?.split_first_chunk::<10>()?;
        let [t0, t1, c0, c1, l0, l1, l2, l3, n0, n1] = *fixed;
        let (rdata, behind) = rest.split_at_checked(usize::from(u16::from_be_bytes([n0, n1])))?;
        let record_type = u16::from_be_bytes([t0, t1]);
        Some(Self { is_at_root, record_type, class: [c0, c1], ttl: [l0, l1, l2, l3], rdata, behind })
    }

    pub(crate) fn record_type(&self) -> u16 {
        self.record_type
    }

    pub(crate) fn rdata(&self) -> &'p [u8] {
        self.rdata
    }

    pub(crate) fn is_at_root(&self) -> bool {
        self.is_at_root
    }

    pub(crate) fn class(&self) -> [u8; 2] {
        self.class
    }
}

/// A name without pointers, and what follows it.
pub(crate) fn split_name(wire: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        let length = usize::from(*wire.get(at)?);
        if length > MAX_LABEL_BYTES {
            return None;
        }
        at += length + 1;
        if length == 0 {
            return wire.split_at_checked(at);
        }
    }
}
