//! Messages that say that a zone has changed (RFC 1996).

use crate::message_record::HEADER_BYTES;
use crate::name::Name;
use crate::tsig::{TsigKey, TsigSigner};
use crate::zone::SOA;

/// The operation in a header, with the flag of an answer that is the sender's own knowledge.
const NOTIFY_FLAGS: u8 = 4 << 3 | 4;
const RESPONSE: u8 = 0x80;

/// A NOTIFY message for a zone, signed if there is a key. `None` if it does not fit.
pub fn notify(apex: &Name, key: Option<&TsigKey>, id: [u8; 2], now: u32) -> Option<Vec<u8>> {
    let [id0, id1] = id;
    let mut message = vec![id0, id1, NOTIFY_FLAGS, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(apex.wire());
    message.extend_from_slice(&SOA.to_be_bytes());
    message.extend_from_slice(&[0, 1]);
    let Some(key) = key else { return Some(message) };
    let bytes = message.len();
    message.resize(bytes + key.record_bytes(), 0);
    let signed = TsigSigner::new(key, &[]).sign(&mut message, bytes, now.into(), None)?;
    message.truncate(signed);
    Some(message)
}

/// Whether a message is the answer to what was sent under an id.
pub fn is_notify_answer(message: &[u8], id: [u8; 2]) -> bool {
    let Some([id0, id1, flags, ..]) = message.first_chunk::<HEADER_BYTES>() else { return false };
    [*id0, *id1] == id && flags & (RESPONSE | 0x78) == RESPONSE | 4 << 3
}
