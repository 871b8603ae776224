//! What stands in sets, and patterns with `*`.

use super::Mistake;
use super::cursor::Cursor;
use super::test::Addresses;

/// `200` or `200..299`
pub(super) fn number_range(cursor: &mut Cursor<'_>) -> Result<(i64, i64), Mistake> {
    cursor.skip_space();
    let start = *cursor;
    let from = cursor.number()?;
    let to = if cursor.rest().starts_with("..") {
        cursor.take("..");
        cursor.number()?
    } else {
        from
    };
    if from <= to { Ok((from, to)) } else { Err(start.mistake("this range ends before it begins")) }
}

/// `192.0.2.1`, `192.0.2.0/24` or `192.0.2.1..192.0.2.9`
pub(super) fn addresses(cursor: &mut Cursor<'_>) -> Result<Addresses, Mistake> {
    cursor.skip_space();
    let start = *cursor;
    let from = cursor.address()?;
    // Clients are compared as what they are, so an address of IPv4 is meant as one however it is written.
    let is_mapped = from != from.to_canonical();
    if cursor.rest().starts_with("..") {
        cursor.take("..");
        let (from, to) = (from.to_canonical(), cursor.address()?.to_canonical());
        if from.is_ipv4() != to.is_ipv4() || to < from {
            return Err(start.mistake("a range goes from an address up to one of the same family"));
        }
        return Ok(Addresses::Range(from, to));
    }
    if !cursor.rest().starts_with('/') {
        return Ok(Addresses::Network(from.to_canonical().into()));
    }
    cursor.take("/");
    let bits = u8::try_from(cursor.number()?).ok().and_then(|bits| match bits.checked_sub(96) {
        Some(bits) if is_mapped => ipnet::IpNet::new(from.to_canonical(), bits).ok(),
        _ => ipnet::IpNet::new(from, bits).ok(),
    });
    bits.map(Addresses::Network)
        .ok_or_else(|| start.mistake("this network's prefix is longer than its address"))
}

/// A pattern of a text where `*` stands for any bytes and `\*` for itself.
pub(super) fn wildcard(text: &[u8], is_strict: bool) -> String {
    let escaped = |piece: &Vec<u8>| piece.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let pieces: Vec<String> = pieces(text).iter().map(escaped).collect();
    format!("{}{}$", if is_strict { "^" } else { "(?i)^" }, pieces.join(".*"))
}

/// What stands between the `*` of a pattern; `\*` is a `*`, and `\\` a backslash.
pub(super) fn pieces(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = vec![Vec::new()];
    let mut bytes = pattern.iter().peekable();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'*' => {
                pieces.push(Vec::new());
                continue;
            }
            b'\\' => bytes.next_if(|next| matches!(next, b'*' | b'\\')).unwrap_or(byte),
            other => other,
        };
        if let Some(piece) = pieces.last_mut() {
            piece.push(*byte);
        }
    }
    pieces
}
