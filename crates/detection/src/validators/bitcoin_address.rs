//! Bitcoin addresses: Base58Check of a hash (version 0 or 5), Bech32 (BIP 173) and Bech32m (BIP 350).

use super::Definition;
use crate::base58::decode_check;

pub(super) const DEFINITION: Definition = Definition {
    name: "bitcoin_address",
    summary: "An address whose checksum holds.",
    validate,
    valid: &[
        "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
        "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
        "BC1SW50QGDZ25J",
    ],
    invalid: &[
        "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3",
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5",
        "bc1",
        "11111111111111111111111111111",
    ],
};

fn validate(value: &[u8]) -> bool {
    if value.get(..3).is_some_and(|hrp| hrp.eq_ignore_ascii_case(b"bc1")) {
        return bech32(value);
    }
    decode_check(value).is_some_and(|hash| hash.len() == 21 && matches!(hash.first(), Some(0 | 5)))
}

/// BIP 173: the polynomial over the expanded name and the data is 1; over BIP 350 another constant.
fn bech32(value: &[u8]) -> bool {
    const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3];
    let mixed = value.iter().any(u8::is_ascii_uppercase) && value.iter().any(u8::is_ascii_lowercase);
    let symbol = |byte: &u8| ALPHABET.iter().position(|known| *known == byte.to_ascii_lowercase());
    let Some(data) = value.get(3..).and_then(|data| data.iter().map(symbol).collect::<Option<Vec<usize>>>())
    else {
        return false;
    };
    // `bc`, its high and low halves.
    let expanded = [3, 3, 0, 2, 3].into_iter().chain(data.iter().copied());
    let checksum = expanded.fold(1_u32, |sum, symbol| {
        let top = sum >> 25;
        let next = (sum & 0x01FF_FFFF) << 5 ^ u32::try_from(symbol).unwrap_or(0);
        GENERATOR
            .iter()
            .enumerate()
            .fold(next, |next, (at, term)| if top >> at & 1 == 1 { next ^ term } else { next })
    });
    !mixed && data.len() >= 8 && matches!(checksum, 1 | 0x2BC8_30A3)
}
