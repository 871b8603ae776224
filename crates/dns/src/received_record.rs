//! Records of messages with their names written out.

use smallvec::SmallVec;

use crate::message_record::MessageRecord;
use crate::name::{MAX_LABEL_BYTES, MAX_WIRE_BYTES, Name};
use crate::record_type::RecordType;
use crate::zone::Soa;

/// Where a part of a message begins.
pub(crate) fn offset(message: &[u8], part: &[u8]) -> usize {
    // INVARIANT: parts go up to the end of the message.
    message.len() - part.len()
}

/// The name at a place of a message, whose pointers lead backwards, and what follows it.
pub(crate) fn name_at(message: &[u8], at: usize) -> Option<(Name, usize)> {
    let mut wire = SmallVec::<[u8; MAX_WIRE_BYTES]>::new();
    let (mut at, mut end, mut before) = (at, None, at);
    loop {
        let length = usize::from(*message.get(at)?);
        match length {
            0 => {
                wire.push(0);
                return Some((Name::from_wire(&wire)?, end.unwrap_or(at + 1)));
            }
            1..=MAX_LABEL_BYTES => {
                wire.extend_from_slice(message.get(at..at + 1 + length)?);
                at += 1 + length;
                if wire.len() >= MAX_WIRE_BYTES {
                    return None;
                }
            }
            192.. => {
                let target = (length & 63) << 8 | usize::from(*message.get(at + 1)?);
                end = end.or(Some(at + 2));
                // Only backwards, so that it ends.
                if target >= before {
                    return None;
                }
                (at, before) = (target, target);
            }
            _ => return None,
        }
    }
}

/// The data of a record with its names written out.
pub(crate) fn rdata_of(
    message: &[u8],
    record: &MessageRecord<'_>,
    record_type: RecordType,
) -> Option<Vec<u8>> {
    let before = match record_type {
        RecordType::Cname | RecordType::Ns | RecordType::Ptr => 0,
        RecordType::Mx => 2,
        RecordType::Srv => 6,
        _ => return Some(record.rdata().to_vec()),
    };
    let start = offset(message, record.behind) - record.rdata().len();
    let (name, end) = name_at(message, start + before)?;
    let mut rdata = record.rdata().get(..before)?.to_vec();
    rdata.extend_from_slice(name.wire());
    (end == start + record.rdata().len()).then_some(rdata)
}

pub(crate) fn soa_of(message: &[u8], record: &MessageRecord<'_>) -> Option<Soa> {
    let start = offset(message, record.behind) - record.rdata().len();
    let (primary, at) = name_at(message, start)?;
    let (mailbox, at) = name_at(message, at)?;
    let numbers = message.get(at..start + record.rdata().len())?;
    let (numbers, rest) = numbers.as_chunks::<4>();
    let [serial, refresh, retry, expire, minimum] =
        <[[u8; 4]; 5]>::try_from(numbers).ok()?.map(u32::from_be_bytes);
    let ttl = u32::from_be_bytes(record.ttl);
    rest.is_empty().then_some(Soa { primary, mailbox, serial, refresh, retry, expire, minimum, ttl })
}
