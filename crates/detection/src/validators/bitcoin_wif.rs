//! Private keys in wallet import format: Base58Check of 32 bytes of version 128, with a 1 behind them if the public key is compressed.

use super::Definition;
use crate::base58::decode_check;

pub(super) const DEFINITION: Definition = Definition {
    name: "bitcoin_wif",
    summary: "Base58Check of a private key.",
    validate,
    valid: &[
        concat!("5HueCGU8", "rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ"),
        concat!("KwDiBf89", "QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn"),
    ],
    invalid: &[
        concat!("5HueCGU8", "rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTK"),
        "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
    ],
};

fn validate(value: &[u8]) -> bool {
    decode_check(value).is_some_and(|key| key.first() == Some(&0x80) && matches!(key.len(), 33 | 34))
}
