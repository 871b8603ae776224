//! Records of one type at one name, whose bytes are ready.

/// Points to the question's name (RFC 1035 section 4.1.4).
pub(crate) const QUESTION_NAME: [u8; 2] = [0xC0, 0x0C];
pub(crate) const CLASS_IN: [u8; 2] = [0, 1];

/// Records of one type at one name.
#[derive(Debug)]
pub(crate) struct RecordSet {
    pub(crate) record_type: u16,
    pub(crate) count: u16,
    /// The records, one behind the other; their names point to the question's.
    pub(crate) wire: Box<[u8]>,
}

impl RecordSet {
    pub(crate) fn new(record_type: u16, ttl: u32, rdata: &[&[u8]]) -> Self {
        let mut wire = Vec::with_capacity(rdata.iter().map(|rdata| rdata.len() + 12).sum());
        for rdata in rdata {
            wire.extend(QUESTION_NAME);
            wire.extend(record_type.to_be_bytes());
            wire.extend(CLASS_IN);
            wire.extend(ttl.to_be_bytes());
            // INVARIANT: data is at most that long.
            wire.extend(u16::try_from(rdata.len()).unwrap_or(0).to_be_bytes());
            wire.extend_from_slice(rdata);
        }
        Self { record_type, count: u16::try_from(rdata.len()).unwrap_or(u16::MAX), wire: wire.into() }
    }

    /// Seconds.
    pub(crate) fn ttl(&self) -> u32 {
        let ttl = self.wire.get(6..10).and_then(|ttl| <[u8; 4]>::try_from(ttl).ok());
        ttl.map_or(0, u32::from_be_bytes)
    }

    /// The records without their names: type, class, TTL, length and data.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.wire;
        std::iter::from_fn(move || {
            let head = rest.first_chunk::<12>()?;
            let end = 12 + usize::from(u16::from_be_bytes([head[10], head[11]]));
            let (record, behind) = rest.split_at_checked(end)?;
            rest = behind;
            record.get(QUESTION_NAME.len()..)
        })
    }

    /// The data of each record.
    pub(crate) fn rdata(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.wire;
        std::iter::from_fn(move || {
            let (head, behind) = rest.split_first_chunk::<12>()?;
            let (rdata, behind) =
                behind.split_at_checked(usize::from(u16::from_be_bytes([head[10], head[11]])))?;
            rest = behind;
            Some(rdata)
        })
    }
}
