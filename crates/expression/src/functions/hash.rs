//! Hashes, and what is signed with them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::bytes;
use crate::value::Value;
use body::urlencoded;

/// Digits of a time in a signed message.
const TIME_DIGITS: usize = 10;

pub(super) fn sha256<'r>(values: &[Value<'r>]) -> Value<'r> {
    Value::Text(Sha256::digest(bytes(values, 0)).to_vec().into())
}

pub(super) fn encode_base64<'r>(values: &[Value<'r>]) -> Value<'r> {
    let text = bytes(values, 0);
    let is_for_urls = bytes(values, 1).contains(&b'u');
    let encoded = if is_for_urls { URL_SAFE_NO_PAD.encode(text) } else { STANDARD.encode(text) };
    Value::Text(encoded.into_bytes().into())
}

/// A version 4 UUID (RFC 9562 section 5.4) that a text decides, such as the id of the request.
pub(super) fn uuidv4<'r>(values: &[Value<'r>]) -> Value<'r> {
    let hash = Sha256::digest(bytes(values, 0));
    // INVARIANT: a hash has 32 bytes.
    let mut id: [u8; 16] = hash.first_chunk().copied().unwrap_or_default();
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut id;
    *version = *version & 0x0f | 0x40;
    *variant = *variant & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (nth, byte) in id.iter().enumerate() {
        if matches!(nth, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    Value::Text(text.into_bytes().into())
}

/// Whether a message has the hash of a key, and is not too old: key, message, lifetime and time in seconds, then the length of
/// what stands between the message and its time, and `s` for a hash of letters that URLs take. The message is as
/// `/download/a.txt?verify=1700000000-HASH`, where `?verify=` is in between.
pub(super) fn is_timed_hmac_valid<'r>(values: &[Value<'r>]) -> Value<'r> {
    let number = |index: usize| match values.get(index) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    };
    let is_valid = || {
        let separator = usize::try_from(number(4)).ok()?;
        let (text, flags) = (bytes(values, 1), bytes(values, 5));
        // A hash may have hyphens too: it is as long as it is.
        let at = text.windows(TIME_DIGITS + 1).rposition(|part| {
            part.split_last()
                .is_some_and(|(last, digits)| *last == b'-' && digits.iter().all(u8::is_ascii_digit))
        })?;
        let (message, signed) = text.split_at_checked(at)?;
        let message = message.get(..message.len().checked_sub(separator)?)?;
        let (time, hash) = signed.split_at_checked(TIME_DIGITS)?;
        let hash = hash.get(1..)?;
        let issued: i64 = std::str::from_utf8(time).ok()?.parse().ok()?;
        let hash = match flags.contains(&b's') {
            true => URL_SAFE_NO_PAD.decode(hash).ok()?,
            false => STANDARD.decode(percent_decoded(hash)).ok()?,
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(bytes(values, 0)).ok()?;
        mac.update(message);
        mac.update(time);
        mac.verify_slice(&hash).ok()?;
        let age = number(3).checked_sub(issued)?;
        Some((0..=number(2)).contains(&age))
    };
    Value::Bool(is_valid().unwrap_or(false))
}

/// With escapes taken back; what is no escape stays, and is no base64.
fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) = urlencoded::escaped(rest).unwrap_or((byte, after));
        decoded.push(byte);
        rest = after;
    }
    decoded
}
